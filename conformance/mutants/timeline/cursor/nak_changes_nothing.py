"""A message that was given back comes when its time is over."""

from refbus.driver import serve
from refbus.timeline.bus import TimelineBus
from refbus.timeline.sqlite import SqliteQueue, _parts

KILLED_BY = ("timeline.cursor.12",)
ITEM = "corpus:program_23"


def looked_at(queue: SqliteQueue, delivery: str) -> None:
    _parts(delivery)


SqliteQueue.nak = looked_at  # type: ignore[method-assign]


if __name__ == "__main__":
    serve({"timeline": TimelineBus})
