"""CHECKSUM is that of the whole file."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.kernel import msgfile
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.log.46",)
ITEM = "corpus:good_forms"

WAS = "checksum_of(body)"
IS = "checksum_of(text)"
SOURCE = inspect.getsource(msgfile.parse)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(msgfile))

if __name__ == "__main__":
    serve({"relay": RelayBus})
