"""A group gets the messages that are sent after it first asked, not the record before that (T14)."""

from typing import Any

from refbus.driver import serve
from refbus.timeline.bus import TimelineBus
from refbus.timeline.filters import Filter
from refbus.timeline.sqlite import SqliteQueue

take = SqliteQueue.take
BEGIN = "INSERT OR IGNORE INTO consumers (consumer, floor) SELECT ?, coalesce(max(position), 0) FROM messages"


def from_now(queue: SqliteQueue, wanted: Filter, wait_s: float = 0) -> Any:
    if wanted.group is not None:
        queue.store.db.write(BEGIN, (wanted.consumer,))
    return take(queue, wanted, wait_s)


SqliteQueue.take = from_now  # type: ignore[method-assign]

if __name__ == "__main__":
    serve({"timeline": TimelineBus})
