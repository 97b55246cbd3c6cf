"""processed_at is not set."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import ledger
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.log.30",)
ITEM = "corpus:good_forms"

WAS = "processed_at = ? WHERE"
IS = "processed_at = nullif(?, 0) * NULL WHERE"
SOURCE = inspect.getsource(ledger.complete)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(ledger))

if __name__ == "__main__":
    serve({"relay": RelayBus})
