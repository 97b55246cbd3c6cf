"""A file is read while it may still be written."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import scan
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.cursor.04",)
ITEM = "corpus:ages"


WAS, IS = "if age_ns < config.settle_ms * 1_000_000:", "if age_ns < 0:"
SOURCE = inspect.getsource(scan.Scanner._judged)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(scan))
scan.Scanner._judged = scan._judged
judge = scan.msgfile.judge
scan.msgfile.judge = lambda *args, **options: judge(*args, **{**options, "settle_ms": 0})


if __name__ == "__main__":
    serve({"relay": RelayBus})
