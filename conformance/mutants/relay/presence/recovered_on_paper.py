"""A release that a kill interrupted is written down as done when the next orchestrator starts."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import spawn
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.presence.37",)

WAS = '            self.end([payload["name"]])\n'
SOURCE = inspect.getsource(spawn.Spawns.recover)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, "")), vars(spawn))
spawn.Spawns.recover = spawn.recover

if __name__ == "__main__":
    serve({"relay": RelayBus})
