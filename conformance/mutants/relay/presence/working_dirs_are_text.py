"""WORKING_DIR is compared as it is written."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import spawn
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.presence.22",)

WAS = "real = Path(os.path.realpath(said))"
IS = "real = Path(said)"
SOURCE = inspect.getsource(spawn.Spawns._folder)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(spawn))
spawn.Spawns._folder = spawn._folder

if __name__ == "__main__":
    serve({"relay": RelayBus})
