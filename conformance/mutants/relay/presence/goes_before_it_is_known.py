"""A spawn lets its program go, and records the process afterwards. A kill in between makes it run twice."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import spawn
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.presence.39",)
CHAOS = {"points": True, "only": "spawn"}

WAS = "            self._register(program.name, started.target)\n            started.go()\n"
IS = "            started.go()\n            self._register(program.name, started.target)\n"
SOURCE = inspect.getsource(spawn.Spawns.spawn)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(spawn))
spawn.Spawns.spawn = spawn.spawn

if __name__ == "__main__":
    serve({"relay": RelayBus})
