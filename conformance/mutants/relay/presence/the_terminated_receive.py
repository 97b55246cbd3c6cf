"""A message for a terminated agent is delivered."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import route
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.presence.30",)
ITEM = "corpus:requests"

WAS = 'row is None or row[0] == "terminated"'
IS = "row is None"
SOURCE = inspect.getsource(route.Route._one)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(route))
route.Route._one = route._one

if __name__ == "__main__":
    serve({"relay": RelayBus})
