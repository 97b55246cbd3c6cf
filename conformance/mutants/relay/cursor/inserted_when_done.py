"""A row comes into the ledger as processing."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import ledger
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.cursor.10",)
ITEM = "corpus:ages"

WAS = '"failed" if entry.reason else "pending"'
IS = '"failed" if entry.reason else "processing"'
SOURCE = inspect.getsource(ledger.insert)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(ledger))

if __name__ == "__main__":
    serve({"relay": RelayBus})
