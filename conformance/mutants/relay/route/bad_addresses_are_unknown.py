"""A bad address is an unknown agent."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import route
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.route.13",)
ITEM = "corpus:routes"

WAS = 'raise Failure("bad_address"'
IS = 'raise Failure("unknown_agent"'
SOURCE = inspect.getsource(route.Route.refuse_bad_address)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(route))
route.Route.refuse_bad_address = route.refuse_bad_address

if __name__ == "__main__":
    serve({"relay": RelayBus})
