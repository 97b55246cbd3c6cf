"""A message that fails ends the pass for all behind it."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import process
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.log.56", "relay.retry.08")
ITEM = "corpus:retries"

WAS = "                batch.failed.append((self._as_it_stands(row), failure))"
IS = (
    "                batch.failed.append((self._as_it_stands(row), failure))\n"
    "                batch.held += rows[rows.index(row) + 1 :]\n"
    "                break"
)
SOURCE = inspect.getsource(process.Processing._handle)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(process))
process.Processing._handle = process._handle

if __name__ == "__main__":
    serve({"relay": RelayBus})
