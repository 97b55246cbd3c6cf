"""A file of NULs ends the pass."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.kernel import msgfile
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.limit.19",)
DIES_OF = "NUL"

WAS = "if not data:"
IS = 'if data[:1] == b"\\x00":\n        raise RecursionError("NUL")\n    if not data:'
SOURCE = inspect.getsource(msgfile.parse)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(msgfile))

if __name__ == "__main__":
    serve({"relay": RelayBus})
