"""A pass processes one message."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import process
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.cursor.15",)
ITEM = "corpus:good_forms"

WAS = "last = due[-1].id"
IS = "due = due[:1]\n            last = 2**62"
SOURCE = inspect.getsource(process.Processing.process)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(process))
process.Processing.process = process.process

if __name__ == "__main__":
    serve({"relay": RelayBus})
