"""A fork is recorded, and its beginning in a second transaction: meanwhile it sees nothing of its parent."""

from typing import Any

from refbus.driver import serve
from refbus.timeline.bus import TimelineBus
from refbus.timeline.queue import Branch
from refbus.timeline.sqlite import SqliteQueue

KILLED_BY = ("timeline.log.51",)

append, set_head = SqliteQueue.append, SqliteQueue.set_head
left: list[Branch] = []


def in_two_steps(queue: SqliteQueue, *draft: Any) -> Any:
    stored = append(queue, *draft)
    while left:
        of = left.pop()
        queue.store.db.write("UPDATE timelines SET parent = ?, at = ? WHERE timeline = ?", (*of.origin, of.timeline))
    return stored


def without_a_parent(queue: SqliteQueue, tx: Any, branch: Branch) -> None:
    if branch.origin:
        left.append(branch)
    set_head(queue, tx, branch._replace(origin=None))


SqliteQueue.append, SqliteQueue.set_head = in_two_steps, without_a_parent  # type: ignore[method-assign]


if __name__ == "__main__":
    serve({"timeline": TimelineBus})
