"""last_error is a sentence."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import ledger
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.retry.09",)
ITEM = "corpus:retries"

WAS = "(row.retry_count + 1, error,"
IS = "(row.retry_count + 1, 'failed because of ' + error,"
SOURCE = inspect.getsource(ledger.fail)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(ledger))

if __name__ == "__main__":
    serve({"relay": RelayBus})
