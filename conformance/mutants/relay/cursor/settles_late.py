"""A file of exactly the settle time still waits."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import scan
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.cursor.05",)
ITEM = "corpus:ages"

WAS = "if age_ns < config.settle_ms * 1_000_000:"
IS = "if age_ns <= config.settle_ms * 1_000_000:"
SOURCE = inspect.getsource(scan.Scanner._judged)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(scan))
scan.Scanner._judged = scan._judged

if __name__ == "__main__":
    serve({"relay": RelayBus})
