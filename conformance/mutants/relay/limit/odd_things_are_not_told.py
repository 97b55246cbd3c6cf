"""A fifo or folder is passed over in silence."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import scan
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.limit.11",)
ITEM = "corpus:odd_things"

WAS = "if event is not None:\n"
IS = 'if event == "not_regular":\n                continue\n            if event is not None:\n'
SOURCE = inspect.getsource(scan.Scanner._outbox)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(scan))
scan.Scanner._outbox = scan._outbox

if __name__ == "__main__":
    serve({"relay": RelayBus})
