"""The head of the chain is read before the lock is taken: two writers follow one message."""

from typing import Any

from refbus.driver import serve
from refbus.timeline import sqlite
from refbus.timeline.bus import TimelineBus
from refbus.timeline.message import Place
from refbus.timeline.sqlite import SqliteQueue

KILLED_BY = ("timeline.log.20",)

append = SqliteQueue.append
chained = sqlite.chained
heads: dict[str, Place] = {}


def looking(queue: SqliteQueue, draft: Any, *more: Any) -> Any:
    branch = queue.branch(draft.timeline)
    heads[draft.timeline] = branch.last if branch else Place()
    return append(queue, draft, *more)


def follow(draft: Any, last: Place, time_us: int) -> Any:
    head = heads[draft.timeline]
    return chained(draft, Place(last.number, head.hash if head.number else last.hash), time_us)


SqliteQueue.append = looking  # type: ignore[method-assign]
sqlite.chained = follow


if __name__ == "__main__":
    serve({"timeline": TimelineBus})
