"""A message that a worker has is given to the next one that asks."""

from refbus.driver import serve
from refbus.timeline.bus import TimelineBus
from refbus.timeline.sqlite import SqliteQueue

KILLED_BY = ("timeline.cursor.01",)
ITEM = "corpus:program_02"

SqliteQueue.ack_wait_us = property(lambda _: 0, lambda _, value: None)  # type: ignore[assignment]


if __name__ == "__main__":
    serve({"timeline": TimelineBus})
