"""An agent that is there is started again."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import spawn
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.presence.24",)
ITEM = "corpus:requests"

WAS = '!= "terminated"'
IS = '== "never"'
SOURCE = inspect.getsource(spawn.Spawns._refuse_known)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(spawn))
spawn.Spawns._refuse_known = spawn._refuse_known

if __name__ == "__main__":
    serve({"relay": RelayBus})
