"""A release of nobody is tried again."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import spawn
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.presence.29",)
ITEM = "corpus:requests"

WAS = 'raise Failure("unknown_agent", name, is_final=True)'
IS = 'raise Failure("unknown_agent", name)'
SOURCE = inspect.getsource(spawn.Spawns.release)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(spawn))
spawn.Spawns.release = spawn.release

if __name__ == "__main__":
    serve({"relay": RelayBus})
