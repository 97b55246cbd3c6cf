"""A file that cannot be parsed waits for ever."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.kernel import msgfile
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.cursor.08", "relay.cursor.17")
ITEM = "corpus:ages"

WAS = "if age < malformed_ms * 1_000_000"
IS = "if age < malformed_ms * 10**12 or age < 0"
SOURCE = inspect.getsource(msgfile.judge)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(msgfile))

if __name__ == "__main__":
    serve({"relay": RelayBus})
