# Starts ministack. Each change here is for a fault of the emulator, and has its reason.
import asyncio
import sys
import threading
import time

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

# It ends the processes of a function whose code or settings change, also while one answers. Lambda
# lets a running invocation end.
from ministack.core import lambda_runtime  # noqa: E402

kill_at_once = lambda_runtime.kill_workers


def kill_when_idle(workers):
    kill_at_once([worker for worker in workers if not getattr(worker, "in_use", False)])
    busy = [worker for worker in workers if getattr(worker, "in_use", False)]
    if busy:
        threading.Thread(target=kill_later, args=(busy,), daemon=True).start()


def kill_later(busy):
    until = time.monotonic() + longest_invocation
    while any(worker.in_use for worker in busy) and time.monotonic() < until:
        time.sleep(0.05)
    kill_at_once(busy)


# Seconds; the longest timeout of our functions.
longest_invocation = 60
lambda_runtime.kill_workers = kill_when_idle

from ministack.app import main  # noqa: E402

sys.argv = ["ministack"]
main()
