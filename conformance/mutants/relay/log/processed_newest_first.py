"""Due messages are processed in the opposite order."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import process
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.log.49",)
ITEM = "corpus:good_forms"

WAS = "[row for row in due if row.id not in held]"
IS = "[row for row in reversed(due) if row.id not in held]"
SOURCE = inspect.getsource(process.Processing.process)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(process))
process.Processing.process = process.process

if __name__ == "__main__":
    serve({"relay": RelayBus})
