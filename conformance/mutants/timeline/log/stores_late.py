"""A message is answered, and stored with the next call. A kill between the two loses it."""

from typing import Any

from refbus.driver import serve
from refbus.timeline.bus import TimelineBus
from refbus.timeline.sqlite import SqliteQueue

KILLED_BY = ("timeline.log.34",)
CONTROL = "retry.time_out"

append = SqliteQueue.append
late: dict[int, tuple[Any, ...]] = {}


def later(queue: SqliteQueue, *draft: Any) -> Any:
    waiting = late.pop(id(queue), None)
    if waiting:
        append(queue, *waiting)
    before = queue.branch(draft[0].timeline)
    node, duplicate = append(queue, *draft)
    if before is not None and not duplicate and before.last.number % 3 == 2:
        late[id(queue)] = draft
        queue.store.db.write("DELETE FROM messages WHERE hash = ?", (node.hash,))
        queue.store.db.write(
            "UPDATE timelines SET number = ?, hash = ? WHERE timeline = ?", (*before.last, draft[0].timeline)
        )
    return node, duplicate


SqliteQueue.append = later  # type: ignore[method-assign]


if __name__ == "__main__":
    serve({"timeline": TimelineBus})
