"""A refusal is recorded in every pass."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import audit
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.limit.14",)
ITEM = "corpus:odd_things"

WAS = "if last == (inode, mtime_ns):"
IS = "if last == (inode, -1):"
SOURCE = inspect.getsource(audit.Audit.add)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(audit))
audit.Audit.add = audit.add

if __name__ == "__main__":
    serve({"relay": RelayBus})
