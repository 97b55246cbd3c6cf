"""A pending file that changed is not read again."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import scan
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.cursor.11", "relay.cursor.12", "relay.cursor.13")
ITEM = "corpus:changes"

WAS = "elif not file.stat.is_as(row.stat) or file.path in self.doubtful:\n                judged"
IS = "elif row.stat.size < 0:\n                judged"
SOURCE = inspect.getsource(scan.Scanner._sift)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(scan))
scan.Scanner._sift = scan._sift

if __name__ == "__main__":
    serve({"relay": RelayBus})
