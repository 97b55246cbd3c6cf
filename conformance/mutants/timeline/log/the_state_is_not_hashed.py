"""The hash leaves the state out."""

from typing import Any

from refbus.driver import serve
from refbus.timeline import message, replay, verify
from refbus.timeline.bus import TimelineBus

KILLED_BY = ("timeline.log.18",)

link = message.link


def without_state(number: int, subject: str, nonce: Any, state: Any, *rest: Any) -> str:
    return link(number, subject, nonce, None, *rest)


message.link = verify.link = replay.link = without_state  # type: ignore[assignment]


if __name__ == "__main__":
    serve({"timeline": TimelineBus})
