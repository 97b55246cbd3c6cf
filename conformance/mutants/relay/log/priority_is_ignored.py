"""PRIORITY does not matter."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import scan
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.log.51", "relay.log.36")
ITEM = "corpus:order"

WAS = "key=lambda new: (new[0], new[1].name, new[1].agent)"
IS = "key=lambda new: (new[1].name, new[1].agent)"
SOURCE = inspect.getsource(scan.Scanner._write)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(scan))
scan.Scanner._write = scan._write

if __name__ == "__main__":
    serve({"relay": RelayBus})
