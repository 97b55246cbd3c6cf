"""A file with a time in the future waits until it has come."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.kernel import msgfile
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.cursor.19",)
ITEM = "corpus:future"

WAS = "else unchanged_ns"
IS = "else 0"
SOURCE = inspect.getsource(msgfile.age_ns)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(msgfile))

if __name__ == "__main__":
    serve({"relay": RelayBus})
