"""A release crosses the agent out in the ledger, and then ends its process."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import spawn
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.presence.39",)
CHAOS = {"points": True, "only": "release"}

WAS = "        self.end([name])\n"
IS = """\
        targets = [target for agent, target in self._targets() if agent == name]
        with self._store.transaction() as tx:
            terminate(tx, name)
        self._processes.end(targets, self._store.config.grace_ms)
"""
SOURCE = inspect.getsource(spawn.Spawns.release)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(spawn))
spawn.Spawns.release = spawn.release

if __name__ == "__main__":
    serve({"relay": RelayBus})
