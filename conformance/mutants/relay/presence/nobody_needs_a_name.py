"""A spawn without CLI starts claude."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import spawn
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.presence.13",)

WAS = 'raise Failure("bad_request", "CLI is missing")'
IS = 'said = {**said, "CLI": "claude"}'
SOURCE = inspect.getsource(spawn.Spawns._program)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(spawn))
spawn.Spawns._program = spawn._program

if __name__ == "__main__":
    serve({"relay": RelayBus})
