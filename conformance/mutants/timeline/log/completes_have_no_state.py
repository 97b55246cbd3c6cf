"""A Complete has no hash of the agent's state."""

from typing import Any

from refbus.driver import serve
from refbus.timeline import call, keys, log, message
from refbus.timeline.bus import TimelineBus

KILLED_BY = ("timeline.log.04",)
ITEM = "corpus:program_01"

draft = message.draft


def without_state(key: keys.Key, payload: Any, nonce: str | None = None, state: str | None = None) -> message.Draft:
    return draft(key, payload, nonce, None if isinstance(key, keys.Complete) else state)


log.draft = call.draft = without_state


if __name__ == "__main__":
    serve({"timeline": TimelineBus})
