"""Any number of files is taken."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import limit
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.limit.03",)
ITEM = "corpus:limits"

WAS = "return max(0,"
IS = "return 10**6 + max(0,"
SOURCE = inspect.getsource(limit.Rate.room)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(limit))
limit.Rate.room = limit.room

if __name__ == "__main__":
    serve({"relay": RelayBus})
