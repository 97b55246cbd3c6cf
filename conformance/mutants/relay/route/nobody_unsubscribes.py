"""UNSUBSCRIBE does nothing."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import requests
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.route.05",)
ITEM = "corpus:routes"

WAS = 'route.subscribe if key == "SUBSCRIBE" else route.unsubscribe'
IS = "route.subscribe"
SOURCE = inspect.getsource(requests.Requests._status)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(requests))
requests.Requests._status = requests._status

if __name__ == "__main__":
    serve({"relay": RelayBus})
