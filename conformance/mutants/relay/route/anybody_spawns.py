"""A request to anybody is a message."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import process
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.route.12",)
ITEM = "corpus:routes"

WAS = "message.kind in _ORCHESTRATORS and message.to != names.ORCHESTRATOR"
IS = "message.kind in ()"
SOURCE = inspect.getsource(process.Processing._handle)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(process))
process.Processing._handle = process._handle

if __name__ == "__main__":
    serve({"relay": RelayBus})
