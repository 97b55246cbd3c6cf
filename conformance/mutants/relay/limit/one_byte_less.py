"""A file of exactly the limit is too large."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.kernel import msgfile
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.limit.02",)
ITEM = "corpus:limits"

WAS = "if before.size > bytes_max:"
IS = "if before.size >= bytes_max:"
SOURCE = inspect.getsource(msgfile.judge)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(msgfile))

RelayBus.LIMITS.clear()

if __name__ == "__main__":
    serve({"relay": RelayBus})
