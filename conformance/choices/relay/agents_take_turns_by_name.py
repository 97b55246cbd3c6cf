"""Files that one scan finds at one priority go to the ledger by agent, and only then by the file's name (R14)."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import scan
from refbus.relay.bus import RelayBus

WAS = "(new[0], new[1].name, new[1].agent)"
IS = "(new[0], new[1].agent, new[1].name)"
SOURCE = inspect.getsource(scan.Scanner._write)
assert WAS in SOURCE
space: dict[str, object] = {}
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(scan), space)
scan.Scanner._write = space["_write"]  # type: ignore[method-assign,assignment]

if __name__ == "__main__":
    serve({"relay": RelayBus})
