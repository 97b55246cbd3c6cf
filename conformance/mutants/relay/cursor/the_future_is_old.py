"""A file with a time in the future has settled."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.kernel import msgfile
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.cursor.18",)
ITEM = "corpus:future"

WAS = "else unchanged_ns"
IS = "else 10**18"
SOURCE = inspect.getsource(msgfile.age_ns)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(msgfile))

if __name__ == "__main__":
    serve({"relay": RelayBus})
