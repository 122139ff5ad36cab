"""Signs in by the openstack client with the environment and the files that it finds.

The last line is what the client has read, or its refusal, as JSON.
"""

import contextlib
import io
import json

from openstackclient.shell import OpenStackShell

shell = OpenStackShell()
said = io.StringIO()
with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
    status = shell.run(["token", "issue", "-f", "json"])
if status == 0:
    verify, _ = shell.cloud.get_requests_verify_args()
    region = shell.cloud.config.get("region_name")
    interface = shell.cloud.config.get("interface")
    print(json.dumps({"region": region, "interface": interface, "verify": verify}))
else:
    print(json.dumps({"refusal": said.getvalue()}))
