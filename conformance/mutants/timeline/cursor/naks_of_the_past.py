"""A nak gives a message back though it is in another worker's hands by now."""

from refbus.driver import serve
from refbus.timeline.bus import TimelineBus
from refbus.timeline.sqlite import SqliteQueue, _parts

KILLED_BY = ("timeline.cursor.18",)
CHAOS = {"holds": True, "only": "fetch", "against": "a fetch after the time-out that it got"}


def whoever_has_it(queue: SqliteQueue, delivery: str) -> None:
    consumer, position, _ = _parts(delivery)
    queue.store.db.write(
        "UPDATE deliveries SET visible_at_us = 0 WHERE consumer = ? AND position = ?", (consumer, position)
    )


SqliteQueue.nak = whoever_has_it  # type: ignore[method-assign]


if __name__ == "__main__":
    serve({"timeline": TimelineBus})
