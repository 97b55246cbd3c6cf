"""A call takes the first response to its operation, whichever the sequence."""

from typing import Any

from refbus.driver import serve
from refbus.timeline.bus import TimelineBus
from refbus.timeline.sqlite import SqliteQueue

KILLED_BY = ("timeline.retry.06",)

find = SqliteQueue.find


def first(queue: SqliteQueue, subject: str, nonce: str | None = None, wait_s: float = 0) -> Any:
    if ".res." not in subject or not wait_s:
        return find(queue, subject, nonce, wait_s)

    def look() -> Any:
        start = subject.rpartition(".")[0] + ".*"
        row = queue.store.db.row(
            "SELECT subject FROM messages WHERE subject GLOB ? ORDER BY position LIMIT 1", (start,)
        )
        return None if row is None else find(queue, row[0])

    return queue.store.wait_for(look, wait_s)


SqliteQueue.find = first  # type: ignore[method-assign]


if __name__ == "__main__":
    serve({"timeline": TimelineBus})
