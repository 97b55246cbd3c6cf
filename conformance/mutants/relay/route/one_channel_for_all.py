"""Channels are not told apart."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import route
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.route.04",)
ITEM = "corpus:routes"

WAS = "WHERE channel = ? AND"
IS = "WHERE lower(channel) = lower(?) AND"
SOURCE = inspect.getsource(route.Route.recipients)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(route))
route.Route.recipients = route.recipients

if __name__ == "__main__":
    serve({"relay": RelayBus})
