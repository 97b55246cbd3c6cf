"""A header may be written small."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.kernel import msgfile
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.log.41",)
ITEM = "corpus:bad_forms"

WAS = "found = _HEADER.fullmatch(line)"
IS = "found = _HEADER.fullmatch(line.partition(':')[0].upper() + ':' * (':' in line) + line.partition(':')[2])"
SOURCE = inspect.getsource(msgfile._header)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(msgfile))

if __name__ == "__main__":
    serve({"relay": RelayBus})
