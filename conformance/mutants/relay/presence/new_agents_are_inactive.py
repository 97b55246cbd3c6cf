"""A new agent is inactive until it writes."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import presence
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.presence.04",)
ITEM = "corpus:agents"

WAS = "VALUES (?, ?, 'active')"
IS = "VALUES (?, ?, 'inactive')"
SOURCE = inspect.getsource(presence.Presence.refresh)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(presence))
presence.Presence.refresh = presence.refresh

if __name__ == "__main__":
    serve({"relay": RelayBus})
