"""A message goes to one group only."""

from dataclasses import replace
from typing import Any

from refbus.driver import serve
from refbus.timeline.bus import TimelineBus
from refbus.timeline.filters import Filter
from refbus.timeline.sqlite import SqliteQueue

KILLED_BY = ("timeline.cursor.08",)
ITEM = "corpus:program_01"

take = SqliteQueue.take


def without_group(queue: SqliteQueue, wanted: Filter, wait_s: float = 0) -> Any:
    return take(queue, replace(wanted, group=None), wait_s)


SqliteQueue.take = without_group  # type: ignore[method-assign]


if __name__ == "__main__":
    serve({"timeline": TimelineBus})
