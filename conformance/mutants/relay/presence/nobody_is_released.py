"""A release without a name releases ann."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import spawn
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.presence.27",)

WAS = 'said.get("NAME", "")'
IS = 'said.get("NAME", "ann")'
SOURCE = inspect.getsource(spawn._name)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(spawn))

if __name__ == "__main__":
    serve({"relay": RelayBus})
