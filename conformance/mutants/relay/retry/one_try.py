"""An unknown recipient fails a message at once."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import process
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.retry.03",)
ITEM = "corpus:retries"

WAS = "failure.is_transient and"
IS = "failure.is_transient and row.id < 0 and"
SOURCE = inspect.getsource(process.Processing._fail)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(process))
process.Processing._fail = process._fail

if __name__ == "__main__":
    serve({"relay": RelayBus})
