"""Without a lead a message fails at once."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import route
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.route.09",)
ITEM = "corpus:retries"

WAS = 'reason = "no_lead"'
IS = 'reason = "no_lead_agent"'
SOURCE = inspect.getsource(route.Route._one)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(route))
route.Route._one = route._one

if __name__ == "__main__":
    serve({"relay": RelayBus})
