"""A folder with a bad name is passed over in silence."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import presence
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.presence.06",)
ITEM = "corpus:odd_things"

WAS = 'event = "bad_agent_name"'
IS = "continue"
SOURCE = inspect.getsource(presence.Presence._folders)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(presence))
presence.Presence._folders = presence._folders

if __name__ == "__main__":
    serve({"relay": RelayBus})
