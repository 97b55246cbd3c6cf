"""A .msg file may have any name."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import scan
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.limit.13", "relay.log.47")
ITEM = "corpus:odd_things"

WAS = '"bad_file_name"'
IS = "None"
SOURCE = inspect.getsource(scan.Scanner._outbox)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(scan))
scan.Scanner._outbox = scan._outbox

if __name__ == "__main__":
    serve({"relay": RelayBus})
