"""The rate of one agent holds for all."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import limit
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.limit.05",)
ITEM = "corpus:limits"

WAS = "WHERE agent_name = ? AND direction"
IS = "WHERE agent_name <> ? || '!' AND direction"
SOURCE = inspect.getsource(limit.Rate.room)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(limit))
limit.Rate.room = limit.room

if __name__ == "__main__":
    serve({"relay": RelayBus})
