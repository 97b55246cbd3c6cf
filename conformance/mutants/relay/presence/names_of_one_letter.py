"""A name has two letters at least."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import names
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.presence.01",)
ITEM = "corpus:agents"

WAS = "_NAME.fullmatch(name) is not None"
IS = "_NAME.fullmatch(name) is not None and len(name) > 1"
SOURCE = inspect.getsource(names.is_agent_name)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(names))

if __name__ == "__main__":
    serve({"relay": RelayBus})
