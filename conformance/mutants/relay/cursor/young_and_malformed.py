"""A file that cannot be parsed fails at once."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.kernel import msgfile
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.cursor.07",)
ITEM = "corpus:ages"

WAS = "return Wait(str(error)) if age < malformed_ms * 1_000_000"
IS = "return Wait(str(error)) if age < settle_ms * 1_000_000"
SOURCE = inspect.getsource(msgfile.judge)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(msgfile))

if __name__ == "__main__":
    serve({"relay": RelayBus})
