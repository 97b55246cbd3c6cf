"""The pauses between attempts do not grow."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import ledger
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.retry.04",)
ITEM = "corpus:retries"

WAS = "(? << (retry_count - 1))"
IS = "(? << 0)"
SOURCE = inspect.getsource(ledger.due)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(ledger))

if __name__ == "__main__":
    serve({"relay": RelayBus})
