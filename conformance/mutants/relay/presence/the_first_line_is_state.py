"""The saved state begins with its action."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import requests
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.presence.34",)
ITEM = "corpus:routes"

WAS = "return Answer(effects=[lambda tx: _keep(tx, row.agent, state)])"
IS = "return Answer(effects=[lambda tx: _keep(tx, row.agent, message.body)])"
SOURCE = inspect.getsource(requests.Requests._continuity)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(requests))
requests.Requests._continuity = requests._continuity

if __name__ == "__main__":
    serve({"relay": RelayBus})
