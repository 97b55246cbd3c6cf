"""PRIORITY may have two digits."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.kernel import msgfile
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.log.45",)
ITEM = "corpus:bad_forms"

WAS = "if name in _FORMATS and"
IS = 'if name == "PRIORITY" and value == "10":\n        return name, "9"\n    if name in _FORMATS and'
SOURCE = inspect.getsource(msgfile._header)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(msgfile))

if __name__ == "__main__":
    serve({"relay": RelayBus})
