"""A user's input is always a text: a number or an object becomes one."""

from typing import Any

from refbus.driver import serve
from refbus.timeline import call, keys, log, message
from refbus.timeline.bus import TimelineBus

KILLED_BY = ("timeline.log.01",)
ITEM = "corpus:program_03"

draft = message.draft


def as_text(key: keys.Key, payload: Any, nonce: str | None = None, state: str | None = None) -> message.Draft:
    return draft(key, str(payload) if isinstance(key, keys.Invoke) else payload, nonce, state)


log.draft = call.draft = as_text


if __name__ == "__main__":
    serve({"timeline": TimelineBus})
