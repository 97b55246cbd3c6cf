"""A delegated sub-task arrives without its payload."""

from typing import Any

from refbus.driver import serve
from refbus.timeline import call, keys, log, message
from refbus.timeline.bus import TimelineBus

KILLED_BY = ("timeline.log.05",)
ITEM = "corpus:program_01"

draft = message.draft


def emptied(key: keys.Key, payload: Any, nonce: str | None = None, state: str | None = None) -> message.Draft:
    return draft(key, None if isinstance(key, keys.Delegate) else payload, nonce, state)


log.draft = call.draft = emptied


if __name__ == "__main__":
    serve({"timeline": TimelineBus})
