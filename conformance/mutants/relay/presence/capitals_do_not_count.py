"""Agents whose names differ in case are one."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import presence
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.presence.07",)
ITEM = "corpus:agents"

WAS = "new = [name for name in found if name not in known]"
IS = "new = [name for name in found if name not in known and (name.islower() or name.lower() not in found)]"
SOURCE = inspect.getsource(presence.Presence.refresh)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(presence))
presence.Presence.refresh = presence.refresh

if __name__ == "__main__":
    serve({"relay": RelayBus})
