"""Bytes that are no UTF-8 are read as question marks."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.kernel import msgfile
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.log.44",)
ITEM = "corpus:bad_forms"

WAS = "text = data.decode()"
IS = 'text = data.decode(errors="replace")'
SOURCE = inspect.getsource(msgfile.parse)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(msgfile))

if __name__ == "__main__":
    serve({"relay": RelayBus})
