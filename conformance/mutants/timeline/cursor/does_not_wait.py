"""A fetch that should wait answers at once."""

from typing import Any

from refbus.driver import serve
from refbus.timeline.bus import TimelineBus
from refbus.timeline.filters import Filter
from refbus.timeline.sqlite import SqliteQueue

KILLED_BY = ("timeline.cursor.11",)

take = SqliteQueue.take


def at_once(queue: SqliteQueue, wanted: Filter, wait_s: float = 0) -> Any:
    return take(queue, wanted)


SqliteQueue.take = at_once  # type: ignore[method-assign]


if __name__ == "__main__":
    serve({"timeline": TimelineBus})
