"""A file with a time in the future has settled for an orchestrator that just started."""

import inspect
import textwrap
from typing import Any

from refbus.driver import serve
from refbus.relay import scan
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.cursor.20",)
ITEM = "corpus:future"

WAS = "else (stat, self._monotonic_ns)"
IS = "else (stat, self._monotonic_ns if self._has_scanned or not self._knows_any() else -(10**18))"
SOURCE = inspect.getsource(scan.Scanner._remember)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(scan))
scan.Scanner._remember = scan._remember
scan.Scanner._has_scanned = False
once = scan.Scanner.scan


def and_remember(self: scan.Scanner, agents: Any) -> Any:
    scanned = once(self, agents)
    self._has_scanned = True
    return scanned


scan.Scanner.scan = and_remember  # type: ignore[method-assign]
scan.Scanner._knows_any = lambda self: self._store.db.row("SELECT 1 FROM messages") is not None

if __name__ == "__main__":
    serve({"relay": RelayBus})
