"""A broadcast goes to inactive agents, too."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import route
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.route.02",)
ITEM = "corpus:agents"

WAS = "\"SELECT name FROM agents WHERE status = 'active' AND"
IS = "\"SELECT name FROM agents WHERE status <> 'never' AND"
SOURCE = inspect.getsource(route.Route.recipients)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(route))
route.Route.recipients = route.recipients

if __name__ == "__main__":
    serve({"relay": RelayBus})
