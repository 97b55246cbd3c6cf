"""meta.json has no pid."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import spawn
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.presence.18",)

WAS = '"pid": target.pid, '
IS = ""
SOURCE = inspect.getsource(spawn.Spawns._register)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(spawn))
spawn.Spawns._register = spawn._register

if __name__ == "__main__":
    serve({"relay": RelayBus})
