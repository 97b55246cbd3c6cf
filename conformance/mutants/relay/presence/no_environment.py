"""ENV is ignored."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import spawn
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.presence.17", "relay.presence.23")

WAS = "self._environment(variables)"
IS = "self._environment([])"
SOURCE = inspect.getsource(spawn.Spawns._program)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(spawn))
spawn.Spawns._program = spawn._program

if __name__ == "__main__":
    serve({"relay": RelayBus})
