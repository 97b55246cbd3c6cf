"""A channel reaches active subscribers alone."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import route
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.route.04",)
ITEM = "corpus:silent_subscribers"

WAS = "status <> 'terminated'"
IS = "status = 'active'"
SOURCE = inspect.getsource(route.Route.recipients)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(route))
route.Route.recipients = route.recipients

if __name__ == "__main__":
    serve({"relay": RelayBus})
