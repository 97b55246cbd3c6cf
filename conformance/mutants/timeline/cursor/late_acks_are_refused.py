"""An ack by a worker whose time was over is refused."""

from refbus.driver import serve
from refbus.kernel.errors import NotFound
from refbus.timeline.bus import TimelineBus
from refbus.timeline.sqlite import SqliteQueue, _parts

KILLED_BY = ("timeline.cursor.14",)
ITEM = "corpus:program_01"

ack = SqliteQueue.ack


def in_time(queue: SqliteQueue, delivery: str) -> None:
    if queue.store.db.row(
        "SELECT 1 FROM deliveries WHERE consumer = ? AND position = ? AND delivery_count = ?", _parts(delivery)
    ):
        return ack(queue, delivery)
    raise NotFound("this delivery is over")


SqliteQueue.ack = in_time  # type: ignore[method-assign]


if __name__ == "__main__":
    serve({"timeline": TimelineBus})
