"""A row has no inode."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import ledger
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.log.24",)
ITEM = "corpus:bad_forms"

WAS = "            *entry.stat,"
IS = "            *entry.stat._replace(inode=1),"
SOURCE = inspect.getsource(ledger.insert)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(ledger))

if __name__ == "__main__":
    serve({"relay": RelayBus})
