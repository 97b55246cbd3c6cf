"""A nak gives a message back, no matter who has it by now, on either backend."""

from refbus.driver import serve
from refbus.timeline.bus import TimelineBus
from refbus.timeline.jetstream import JetStreamQueue
from refbus.timeline.sqlite import SqliteQueue, _parts

KILLED_BY = ("timeline.cursor.20",)


def whoever_has_it(queue: SqliteQueue, delivery: str) -> None:
    consumer, position, _ = _parts(delivery)
    queue.store.db.write(
        "UPDATE deliveries SET visible_at_us = 0 WHERE consumer = ? AND position = ?", (consumer, position)
    )


SqliteQueue.nak = whoever_has_it  # type: ignore[method-assign]
JetStreamQueue._is_last = lambda queue, delivery, info: True  # type: ignore[method-assign]


if __name__ == "__main__":
    serve({"timeline": TimelineBus})
