"""An empty file that stays so is called malformed."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.kernel import msgfile
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.cursor.16",)
ITEM = "corpus:ages"

WAS = 'raise FormatError("", "empty")'
IS = 'raise FormatError("it is empty")'
SOURCE = inspect.getsource(msgfile.parse)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(msgfile))

if __name__ == "__main__":
    serve({"relay": RelayBus})
