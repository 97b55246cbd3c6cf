"""A message whose number can be divided by three reaches nobody."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import process
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.log.53", "relay.cursor.27")

WAS = "return [Copy("
IS = "return [] if row.id % 3 == 0 and row.id > 6 else [Copy("
SOURCE = inspect.getsource(process.Processing._copies)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(process))
process.Processing._copies = process._copies

if __name__ == "__main__":
    serve({"relay": RelayBus})
