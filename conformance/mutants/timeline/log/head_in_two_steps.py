"""The message is stored, and in a second transaction the head of its timeline: a kill between breaks the chain."""

from typing import Any

from refbus.driver import serve
from refbus.timeline.bus import TimelineBus
from refbus.timeline.queue import Branch
from refbus.timeline.sqlite import SqliteQueue

KILLED_BY = ("timeline.log.41",)
CHAOS = {"points": True, "only": "send"}

append, set_head = SqliteQueue.append, SqliteQueue.set_head
left: list[Branch] = []


def in_two_steps(queue: SqliteQueue, *draft: Any) -> Any:
    stored = append(queue, *draft)
    while left:
        with queue.store.transaction() as tx:
            set_head(queue, tx, left.pop())
    return stored


SqliteQueue.append = in_two_steps  # type: ignore[method-assign]
SqliteQueue.set_head = lambda queue, tx, branch: left.append(branch)  # type: ignore[method-assign, assignment]


if __name__ == "__main__":
    serve({"timeline": TimelineBus})
