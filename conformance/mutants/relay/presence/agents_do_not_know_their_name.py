"""The environment does not say who the agent is."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import spawn
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.presence.19", "relay.presence.12")

WAS = '"AGENT_RELAY_NAME": name,'
IS = '"AGENT_RELAY_AGENT": name,'
SOURCE = inspect.getsource(spawn.Spawns._program)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(spawn))
spawn.Spawns._program = spawn._program

if __name__ == "__main__":
    serve({"relay": RelayBus})
