"""registered_at follows the last message."""

import inspect
import textwrap

from refbus.driver import serve
from refbus.relay import presence
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.presence.08",)
ITEM = "corpus:agents"

WAS = "SET last_seen_at = ?"
IS = "SET registered_at = ?, last_seen_at = ?"
SOURCE = inspect.getsource(presence.Presence.seen)
assert WAS in SOURCE
exec(textwrap.dedent(SOURCE.replace(WAS, IS).replace("(tx.now_ms,", "(tx.now_ms, tx.now_ms,")), vars(presence))
presence.Presence.seen = presence.seen

if __name__ == "__main__":
    serve({"relay": RelayBus})
