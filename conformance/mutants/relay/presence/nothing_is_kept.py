"""continuity save keeps nothing."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import requests
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.presence.33",)
ITEM = "corpus:routes"

WAS = '"INSERT OR REPLACE INTO continuity'
IS = '"INSERT OR IGNORE INTO continuity'
SOURCE = inspect.getsource(requests._keep)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS)), vars(requests))

if __name__ == "__main__":
    serve({"relay": RelayBus})
