"""Messages are processed in the order of their files' names."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import process
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.log.50",)
ITEM = "corpus:order"

WAS = "[row for row in due if row.id not in held]"
IS = "sorted((row for row in due if row.id not in held), key=lambda row: row.name)"
SOURCE = inspect.getsource(process.Processing.process)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(process))
process.Processing.process = process.process

if __name__ == "__main__":
    serve({"relay": RelayBus})
