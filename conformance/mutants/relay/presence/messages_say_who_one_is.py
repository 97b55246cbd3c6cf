"""ENV comes last, and overrides what the orchestrator tells an agent of itself."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import spawn
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.presence.38",)

FIRST = "            **self._environment(variables),\n"
LAST = '            "AGENT_RELAY_DIR": str(self._store.root),\n'
SOURCE = inspect.getsource(spawn.Spawns._program)
assert FIRST in SOURCE and LAST in SOURCE
exec(textwrap.dedent(SOURCE.replace(FIRST, "").replace(LAST, LAST + FIRST)), vars(spawn))
spawn.Spawns._program = spawn._program

if __name__ == "__main__":
    serve({"relay": RelayBus})
