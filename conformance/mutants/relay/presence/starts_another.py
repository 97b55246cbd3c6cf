"""A spawn that a kill interrupted is begun anew, and the process that was started by then is forgotten."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import spawn
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.presence.39",)
CHAOS = {"points": True, "only": "spawn"}

WAS = '        ticket = self._ticket(payload["token"])\n'
IS = '        terminate(tx, payload["name"])\n        end(tx, operation)\n        return False\n'
SOURCE = inspect.getsource(spawn.Spawns.recover)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS + WAS)), vars(spawn))
spawn.Spawns.recover = spawn.recover

if __name__ == "__main__":
    serve({"relay": RelayBus})
