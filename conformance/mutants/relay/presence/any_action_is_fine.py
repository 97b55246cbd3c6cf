"""An ACTION that nobody knows is done."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import requests
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.presence.35",)
ITEM = "corpus:routes"

WAS = 'what.strip() not in ("save", "load")'
IS = 'what.strip() == "never"'
SOURCE = inspect.getsource(requests.Requests._continuity)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(requests))
requests.Requests._continuity = requests._continuity

if __name__ == "__main__":
    serve({"relay": RelayBus})
