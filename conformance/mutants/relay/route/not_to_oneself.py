"""An agent that writes to itself reaches nobody."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import route
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.route.21",)
ITEM = "corpus:routes"

WAS = "row is None or"
IS = "row is None or to == 'ann' or"
SOURCE = inspect.getsource(route.Route._one)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(route))
route.Route._one = route._one

if __name__ == "__main__":
    serve({"relay": RelayBus})
