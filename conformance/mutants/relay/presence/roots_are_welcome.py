"""root may be an agent, if it is shouted."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import names
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.presence.02", "relay.presence.03")
ITEM = "corpus:odd_things"

WAS = "name.lower() not in _RESERVED"
IS = "name not in _RESERVED"
SOURCE = inspect.getsource(names.is_agent_name)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(names))

if __name__ == "__main__":
    serve({"relay": RelayBus})
