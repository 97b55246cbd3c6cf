"""A message for one goes to all."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import route
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.route.01",)
ITEM = "corpus:routes"

WAS = "if to == names.ALL:"
IS = 'if to == names.ALL or to == "bob":'
SOURCE = inspect.getsource(route.Route.recipients)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(route))
route.Route.recipients = route.recipients

if __name__ == "__main__":
    serve({"relay": RelayBus})
