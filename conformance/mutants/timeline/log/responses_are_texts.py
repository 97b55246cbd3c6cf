"""A service's response comes back as a text."""

from typing import Any

from refbus.driver import serve
from refbus.timeline import call, keys, log, message
from refbus.timeline.bus import TimelineBus

KILLED_BY = ("timeline.log.03",)
ITEM = "corpus:said_in_every_way"

draft = message.draft


def as_text(key: keys.Key, payload: Any, nonce: str | None = None, state: str | None = None) -> message.Draft:
    if isinstance(key, keys.Response):
        payload = str(payload)
    return draft(key, payload, nonce, state)


log.draft = call.draft = as_text


if __name__ == "__main__":
    serve({"timeline": TimelineBus})
