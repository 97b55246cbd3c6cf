"""Files that do not end in .msg are looked at."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import scan
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.log.48",)
ITEM = "corpus:odd_things"

WAS = "if name.endswith(names.SUFFIX)"
IS = "if not name.startswith('.p')"
SOURCE = inspect.getsource(scan.Scanner._outbox)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(scan))
scan.Scanner._outbox = scan._outbox

if __name__ == "__main__":
    serve({"relay": RelayBus})
