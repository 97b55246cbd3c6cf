"""A call takes a response to an earlier call of the same operation."""

from typing import Any

from refbus.driver import serve
from refbus.timeline.bus import TimelineBus
from refbus.timeline.sqlite import SqliteQueue

KILLED_BY = ("timeline.retry.07",)
ITEM = "corpus:sent_twice"

find = SqliteQueue.find


def earlier(queue: SqliteQueue, subject: str, nonce: str | None = None, wait_s: float = 0) -> Any:
    found = find(queue, subject, nonce, wait_s)
    if found is not None or ".res." not in subject:
        return found
    start = subject.rpartition(".")[0] + ".*"
    row = queue.store.db.row("SELECT subject FROM messages WHERE subject GLOB ? LIMIT 1", (start,))
    return None if row is None else find(queue, row[0])


SqliteQueue.find = earlier  # type: ignore[method-assign]


if __name__ == "__main__":
    serve({"timeline": TimelineBus})
