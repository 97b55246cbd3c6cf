"""A file that is still being written under the same name is taken."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import scan
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.cursor.06",)
ITEM = "corpus:ages"

WAS = "if file.is_being_written:"
IS = "if file.is_being_written and not file.name:"
SOURCE = inspect.getsource(scan.Scanner._judged)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(scan))
scan.Scanner._judged = scan._judged

if __name__ == "__main__":
    serve({"relay": RelayBus})
