"""Whoever opens the file gives back what others have in their hands."""

from typing import Any

from refbus.driver import serve
from refbus.timeline.bus import TimelineBus
from refbus.timeline.sqlite import SqliteQueue

KILLED_BY = ("timeline.log.46",)
ITEM = "explore:states"

begin = SqliteQueue.__init__


def opened(queue: SqliteQueue, *args: Any, **options: Any) -> None:
    begin(queue, *args, **options)
    with queue.store.transaction() as tx:
        tx.execute("UPDATE deliveries SET visible_at_us = 0")


SqliteQueue.__init__ = opened  # type: ignore[method-assign]


if __name__ == "__main__":
    serve({"timeline": TimelineBus})
