"""All consumers of a type share one record of handed-out messages."""

from typing import Any

from refbus.driver import serve
from refbus.timeline.bus import TimelineBus
from refbus.timeline.filters import Filter
from refbus.timeline.sqlite import SqliteQueue

KILLED_BY = ("timeline.cursor.09",)
ITEM = "corpus:program_04"

consumer = Filter.consumer


def of_the_type(wanted: Filter) -> str:
    return f"{wanted.kind.__name__}{wanted.group or ''}"


take = SqliteQueue.take


def together(queue: SqliteQueue, wanted: Filter, wait_s: float = 0) -> Any:
    Filter.consumer = property(of_the_type)  # type: ignore[assignment, method-assign]
    try:
        return take(queue, wanted, wait_s)
    finally:
        Filter.consumer = consumer  # type: ignore[method-assign]


SqliteQueue.take = together  # type: ignore[method-assign]


if __name__ == "__main__":
    serve({"timeline": TimelineBus})
