"""A message for the orchestrator goes to the lead."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import process
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.route.10", "relay.route.11")
ITEM = "corpus:routes"

WAS = 'elif message.kind not in ("message", "ack", "nack"):'
IS = (
    'elif message.kind in ("message", "ack", "nack"):\n'
    '                    raise Failure("bad_request", "nothing is asked")\n'
    "                else:"
)
SOURCE = inspect.getsource(process.Processing._handle)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(process))
process.Processing._handle = process._handle

if __name__ == "__main__":
    serve({"relay": RelayBus})
