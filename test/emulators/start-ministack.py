# Starts ministack. Each change here is for a fault of the emulator, and has its reason.
import asyncio
import sys

# It offers MQTT on all addresses of the machine; a test's broker is for this machine alone.
create_server = asyncio.BaseEventLoop.create_server


async def on_loopback(loop, factory, host=None, port=None, **named):
    return await create_server(loop, factory, "127.0.0.1" if host else host, port, **named)


asyncio.BaseEventLoop.create_server = on_loopback

# It imports tables of the type AWS::DynamoDB::Table only. CloudFormation imports global tables
# likewise, by the same name.
from ministack.services.cloudformation import changesets, provisioners  # noqa: E402

single, replicated = "AWS::DynamoDB::Table", "AWS::DynamoDB::GlobalTable"
changesets._IMPORT_LOOKUPS[replicated] = changesets._IMPORT_LOOKUPS[single]
handlers = provisioners._RESOURCE_HANDLERS
handlers[replicated] = {**handlers[replicated], "import": handlers[single]["import"]}

from ministack.app import main  # noqa: E402

sys.argv = ["ministack"]
main()
