"""ENV may set everything."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import spawn
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.presence.23",)

WAS = "if key not in self._store.config.env:"
IS = "if key in ():"
SOURCE = inspect.getsource(spawn.Spawns._environment)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(spawn))
spawn.Spawns._environment = spawn._environment

if __name__ == "__main__":
    serve({"relay": RelayBus})
