"""A message that was fetched is there for the next worker at once."""

from refbus.driver import serve
from refbus.timeline.bus import TimelineBus
from refbus.timeline.sqlite import SqliteQueue

KILLED_BY = ("timeline.cursor.23",)

SqliteQueue.ack_wait_us = property(lambda _: 0, lambda _, value: None)  # type: ignore[assignment]


if __name__ == "__main__":
    serve({"timeline": TimelineBus})
