"""A broadcast that reaches nobody fails."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import route
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.route.07",)
ITEM = "corpus:routes"

WAS = "return [name for (name,) in rows]"
IS = (
    "found = [name for (name,) in rows]\n"
    "        if not found:\n"
    '            raise Failure("unknown_agent", to, is_final=True)\n'
    "        return found"
)
SOURCE = inspect.getsource(route.Route.recipients)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(route))
route.Route.recipients = route.recipients

if __name__ == "__main__":
    serve({"relay": RelayBus})
