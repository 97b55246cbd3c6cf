"""A name that was used is not noticed."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import scan
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.cursor.14",)
ITEM = "corpus:changes"

WAS = "if not file.stat.is_as(row.stat):\n                    news.refusals"
IS = "if row.stat.size < 0:\n                    news.refusals"
SOURCE = inspect.getsource(scan.Scanner._sift)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(scan))
scan.Scanner._sift = scan._sift

if __name__ == "__main__":
    serve({"relay": RelayBus})
