"""A bad name in a request is denied."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import spawn
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.presence.25",)
ITEM = "corpus:requests"

WAS = 'raise Failure("bad_request", f"NAME'
IS = 'raise Failure("denied", f"NAME'
SOURCE = inspect.getsource(spawn._name)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(spawn))

if __name__ == "__main__":
    serve({"relay": RelayBus})
