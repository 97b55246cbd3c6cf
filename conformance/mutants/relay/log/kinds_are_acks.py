"""A file without KIND is an ack."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.kernel import msgfile
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.log.34", "relay.log.27")
ITEM = "corpus:good_forms"

WAS = 'headers.pop("KIND", "message")'
IS = 'headers.pop("KIND", "ack")'
SOURCE = inspect.getsource(msgfile._message)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(msgfile))

if __name__ == "__main__":
    serve({"relay": RelayBus})
