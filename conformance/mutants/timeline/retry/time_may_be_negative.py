"""A time-out below zero is none."""

from typing import Any

from refbus.driver import serve
from refbus.timeline.bus import TimelineBus
from refbus.timeline.call import Calls

KILLED_BY = ("timeline.retry.10",)
ITEM = "corpus:program_22"

call = Calls.call


def at_once(calls: Calls, key: Any, payload: Any, nonce: Any, timeout_ms: Any) -> Any:
    return call(calls, key, payload, nonce, max(0, timeout_ms) if type(timeout_ms) is int else timeout_ms)


Calls.call = at_once  # type: ignore[method-assign]


if __name__ == "__main__":
    serve({"timeline": TimelineBus})
