"""A header that stands twice counts the second time."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.kernel import msgfile
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.log.42",)
ITEM = "corpus:bad_forms"

WAS = "if name in headers:"
IS = "if name in headers and not name:"
SOURCE = inspect.getsource(msgfile._split)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(msgfile))

if __name__ == "__main__":
    serve({"relay": RelayBus})
