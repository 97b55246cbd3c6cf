"""A file that is known is taken for another one."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import scan
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.cursor.02",)
ITEM = "corpus:no_archive"

WAS = "if not file.stat.is_as(row.stat):\n                    news.refusals"
IS = 'if not file.stat.is_as(row.stat) or row.status == "completed":\n                    news.refusals'
SOURCE = inspect.getsource(scan.Scanner._sift)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(scan))
scan.Scanner._sift = scan._sift

if __name__ == "__main__":
    serve({"relay": RelayBus})
