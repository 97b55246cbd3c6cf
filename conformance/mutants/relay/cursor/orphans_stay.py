"""A file that nobody finishes stays in .pending."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import scan
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.cursor.25",)
ITEM = "corpus:ages"

WAS = "if age_ns > self._store.config.orphan_ms * 1_000_000:"
IS = "if age_ns < 0:"
SOURCE = inspect.getsource(scan.Scanner._pending)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(scan))
scan.Scanner._pending = scan._pending

if __name__ == "__main__":
    serve({"relay": RelayBus})
