"""A file in .pending is taken, too."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import scan
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.log.06", "relay.cursor.26")
ITEM = "corpus:ages"

WAS = "if age_ns > self._store.config.orphan_ms * 1_000_000:"
IS = "if age_ns > 1_000_000:"
SOURCE = inspect.getsource(scan.Scanner._pending)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(scan))
scan.Scanner._pending = scan._pending

if __name__ == "__main__":
    serve({"relay": RelayBus})
