"""Silent agents stay active."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import presence
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.presence.10",)
ITEM = "corpus:agents"

WAS = "return [name for (name,) in rows]"
IS = "return []"
SOURCE = inspect.getsource(presence.Presence._silent)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(presence))
presence.Presence._silent = presence._silent

if __name__ == "__main__":
    serve({"relay": RelayBus})
