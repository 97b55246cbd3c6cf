"""A repeat burns a number, and the timeline says that it stands where no message is."""

from typing import Any

from refbus.driver import serve
from refbus.timeline.bus import TimelineBus
from refbus.timeline.sqlite import SqliteQueue

KILLED_BY = ("timeline.log.16",)
ITEM = "corpus:sent_twice"

append = SqliteQueue.append


def burning(queue: SqliteQueue, draft: Any, *more: Any) -> Any:
    node, duplicate = append(queue, draft, *more)
    if duplicate:
        queue.store.db.write("UPDATE timelines SET number = number + 1 WHERE timeline = ?", (draft.timeline,))
    return node, duplicate


SqliteQueue.append = burning  # type: ignore[method-assign]


if __name__ == "__main__":
    serve({"timeline": TimelineBus})
