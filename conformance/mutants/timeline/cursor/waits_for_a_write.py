"""A fetch that waits looks again only when somebody has written: time alone gives it nothing."""

from typing import Any

from refbus.driver import serve
from refbus.timeline.bus import TimelineBus
from refbus.timeline.sqlite import SqliteQueue

KILLED_BY = ("timeline.cursor.19",)

take = SqliteQueue.take


def after_a_write(queue: SqliteQueue, wanted: Any, wait_s: float = 0) -> Any:
    seen: int | None = None

    def look() -> Any:
        nonlocal seen
        before, seen = seen, queue.store.version()
        return None if seen == before else take(queue, wanted)

    return queue.store.wait_for(look, wait_s) if wait_s > 0 else take(queue, wanted)


SqliteQueue.take = after_a_write  # type: ignore[method-assign]


if __name__ == "__main__":
    serve({"timeline": TimelineBus})
