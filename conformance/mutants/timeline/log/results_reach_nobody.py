"""A worker never fetches a Complete."""

from typing import Any

from refbus.driver import serve
from refbus.timeline import keys
from refbus.timeline.bus import TimelineBus
from refbus.timeline.sqlite import SqliteQueue

KILLED_BY = ("timeline.log.40",)

take = SqliteQueue.take


def but_completes(queue: SqliteQueue, wanted: Any, wait_s: float = 0) -> Any:
    return None if wanted.kind is keys.Complete else take(queue, wanted, wait_s)


SqliteQueue.take = but_completes  # type: ignore[method-assign]


if __name__ == "__main__":
    serve({"timeline": TimelineBus})
