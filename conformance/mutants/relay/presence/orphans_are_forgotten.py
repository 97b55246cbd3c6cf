"""Agents that died unseen stay active."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import spawn
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.presence.31",)

WAS = "        if dead:\n"
IS = "        if dead and not list(self._targets()):\n"
SOURCE = inspect.getsource(spawn.Spawns.bury)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(spawn))
spawn.Spawns.bury = spawn.bury

if __name__ == "__main__":
    serve({"relay": RelayBus})
