"""A bad channel in a list is passed over."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import requests
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.route.06",)
ITEM = "corpus:routes"

WAS = 'raise Failure("bad_request", f"no channel: {channel!a:.80}")'
IS = "continue"
SOURCE = inspect.getsource(requests.Requests._status)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(requests))
requests.Requests._status = requests._status

if __name__ == "__main__":
    serve({"relay": RelayBus})
