"""A pending message that a later, smaller limit forbids waits for ever."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import process
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.limit.01", "relay.retry.02")
ITEM = "corpus:later_limits"

WAS = "if is_same and before.st_size > config.message_bytes_max:"
IS = "if False:"
SOURCE = inspect.getsource(process.Processing._read)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(process))
process.Processing._read = process._read

if __name__ == "__main__":
    serve({"relay": RelayBus})
