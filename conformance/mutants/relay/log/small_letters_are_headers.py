"""A header may be written small."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.kernel import msgfile
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.log.41",)
ITEM = "corpus:bad_forms"

WAS = "found = _HEADER.fullmatch(line)"
IS = "found = _HEADER.fullmatch(line.upper() if line[:2] == 'to' else line)"
SOURCE = inspect.getsource(msgfile._header)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(msgfile))

if __name__ == "__main__":
    serve({"relay": RelayBus})
