"""A message that cannot be delivered stays pending for ever."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import process
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.retry.02",)
ITEM = "corpus:retries"

WAS = "failure.is_transient and row.retry_count < self._store.config.retries_max"
IS = "failure.is_transient"
SOURCE = inspect.getsource(process.Processing._fail)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(process))
process.Processing._fail = process._fail

if __name__ == "__main__":
    serve({"relay": RelayBus})
