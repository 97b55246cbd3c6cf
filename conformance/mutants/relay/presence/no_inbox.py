"""Nobody makes an agent's inbox."""

import inspect
import os
import textwrap

from refbus.driver import serve
from refbus.relay import presence
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.presence.05",)
ITEM = "corpus:agents"

WAS = "            refusals += self.make_folders(name)"
IS = "            os.chmod(self._store.root / 'agents' / name, 0o700)"
SOURCE = inspect.getsource(presence.Presence._is_made)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(presence))
presence.os = os
presence.Presence._is_made = presence._is_made

if __name__ == "__main__":
    serve({"relay": RelayBus})
