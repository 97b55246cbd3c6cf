"""A message comes again a millisecond after its time."""

from typing import Any

from refbus.driver import serve
from refbus.timeline.bus import TimelineBus
from refbus.timeline.sqlite import SqliteQueue

KILLED_BY = ("timeline.cursor.06",)
ITEM = "corpus:program_02"

init = SqliteQueue.__init__


def longer(queue: SqliteQueue, *args: Any, ack_wait_ms: int, **kwargs: Any) -> None:
    init(queue, *args, ack_wait_ms=ack_wait_ms + 1, **kwargs)


SqliteQueue.__init__ = longer  # type: ignore[method-assign, assignment]


if __name__ == "__main__":
    serve({"timeline": TimelineBus})
