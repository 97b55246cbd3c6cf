"""A sender may write FROM."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.kernel import msgfile
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.route.16", "relay.log.42")
ITEM = "corpus:bad_forms"

WAS = "for name in _OURS:"
IS = 'for name in ("ID",):'
SOURCE = inspect.getsource(msgfile.parse)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(msgfile))

if __name__ == "__main__":
    serve({"relay": RelayBus})
