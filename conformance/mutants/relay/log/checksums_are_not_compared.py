"""CHECKSUM is not held against the body."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.kernel import msgfile
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.log.37",)
ITEM = "corpus:bad_forms"

WAS = "if message.checksum not in (None, checksum_of(body)):"
IS = "if message.checksum == body:"
SOURCE = inspect.getsource(msgfile.parse)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(msgfile))

if __name__ == "__main__":
    serve({"relay": RelayBus})
