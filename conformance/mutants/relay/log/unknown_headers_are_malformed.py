"""A header that nobody knows is malformed."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.kernel import msgfile
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.log.43",)
ITEM = "corpus:good_forms"

WAS = 'priority = headers.pop("PRIORITY", None)'
IS = (
    'priority = headers.pop("PRIORITY", None)\n'
    '    if headers.keys() - {"TO", "KIND", "THREAD", "CHECKSUM", "ATTACHMENT"}:\n'
    '        raise FormatError("unknown header")'
)
SOURCE = inspect.getsource(msgfile._message)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(msgfile))

if __name__ == "__main__":
    serve({"relay": RelayBus})
