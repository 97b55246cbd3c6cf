"""Without a lead a message fails at once."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import route
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.route.09",)
ITEM = "corpus:retries"

WAS = "raise Failure(reason"
IS = "raise final(reason"
SOURCE = inspect.getsource(route.Route._one)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(route))
route.Route._one = route._one
route.final = lambda reason, *detail: route.Failure(reason, *detail, is_final=reason == "no_lead")

if __name__ == "__main__":
    serve({"relay": RelayBus})
