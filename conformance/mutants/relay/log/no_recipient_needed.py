"""A file without TO is a message to everybody."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.kernel import msgfile
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.log.33",)
ITEM = "corpus:bad_forms"

WAS = 'if "TO" not in headers:'
IS = 'if headers.setdefault("TO", "*") == "":'
SOURCE = inspect.getsource(msgfile._message)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(msgfile))

if __name__ == "__main__":
    serve({"relay": RelayBus})
