"""A Request reaches its worker in an object that nobody sent."""

from typing import Any

from refbus.driver import serve
from refbus.timeline import call, keys, log, message
from refbus.timeline.bus import TimelineBus

KILLED_BY = ("timeline.log.02",)
ITEM = "corpus:program_19"

draft = message.draft


def wrapped(key: keys.Key, payload: Any, nonce: str | None = None, state: str | None = None) -> message.Draft:
    if isinstance(key, keys.Request):
        payload = {"payload": payload}
    return draft(key, payload, nonce, state)


log.draft = call.draft = wrapped


if __name__ == "__main__":
    serve({"timeline": TimelineBus})
