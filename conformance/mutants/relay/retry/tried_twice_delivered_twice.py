"""A message that was tried again is delivered twice."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import process
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.retry.06",)
ITEM = "corpus:retries"

WAS = "for recipient in recipients]"
IS = "for recipient in [*recipients, *recipients[: row.retry_count]]]"
SOURCE = inspect.getsource(process.Processing._copies)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(process))
process.Processing._copies = process._copies

if __name__ == "__main__":
    serve({"relay": RelayBus})
