"""A clean end leaves the agents running."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import spawn
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.presence.32",)

WAS = "        if not agents:\n"
IS = "        if agents or not agents:\n"
SOURCE = inspect.getsource(spawn.Spawns.end_all)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(spawn))
spawn.Spawns.end_all = spawn.end_all

if __name__ == "__main__":
    serve({"relay": RelayBus})
