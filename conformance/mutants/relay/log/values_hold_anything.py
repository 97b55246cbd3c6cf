"""A value may hold control characters."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.kernel import msgfile
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.log.44",)
ITEM = "corpus:bad_forms"

WAS = "not value or _CONTROL.search(value)"
IS = "not value"
SOURCE = inspect.getsource(msgfile._header)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(msgfile))

if __name__ == "__main__":
    serve({"relay": RelayBus})
