"""A message that is done has status done."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import ledger
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.log.26",)
ITEM = "corpus:good_forms"

WAS = "SET status = 'completed'"
IS = "SET status = 'done'"
SOURCE = inspect.getsource(ledger.complete)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(ledger))

if __name__ == "__main__":
    serve({"relay": RelayBus})
