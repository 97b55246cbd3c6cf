"""A pass ends after a thousand messages; the others wait for the next one."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import process
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.cursor.15",)
ITEM = "corpus:volume"

WAS = "if not due:"
IS = "if not due or counts.completed >= 1_000:"
SOURCE = inspect.getsource(process.Processing.process)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(process))
process.Processing.process = process.process

if __name__ == "__main__":
    serve({"relay": RelayBus})
