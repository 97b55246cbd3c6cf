"""NAME and CLI are not looked for among the headers."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import spawn
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.presence.14",)

WAS = "return headers | fields"
IS = "return fields"
SOURCE = inspect.getsource(spawn._fields)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(spawn))

if __name__ == "__main__":
    serve({"relay": RelayBus})
