"""A file may have any size."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.kernel import msgfile
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.limit.01",)
ITEM = "corpus:limits"

WAS = "if before.size > bytes_max:"
IS = "if before.size > bytes_max * 2:"
SOURCE = inspect.getsource(msgfile.judge)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(msgfile))

if __name__ == "__main__":
    serve({"relay": RelayBus})
