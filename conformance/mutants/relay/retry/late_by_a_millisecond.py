"""An attempt is due a millisecond late."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import ledger
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.retry.05",)
ITEM = "corpus:retries"

WAS = "(retry_count - 1)) <= ?"
IS = "(retry_count - 1)) < ?"
SOURCE = inspect.getsource(ledger.due)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(ledger))

if __name__ == "__main__":
    serve({"relay": RelayBus})
