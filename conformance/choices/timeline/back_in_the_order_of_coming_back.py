"""Among messages that came back, fetch gives first the one that was given back, or ran out, first."""

from refbus.driver import serve
from refbus.timeline import sqlite
from refbus.timeline.bus import TimelineBus

# The moment of a nak is kept below zero: it is over, whatever the clock shows later.
AGE, MOMENT = "ORDER BY position LIMIT 1", "ORDER BY abs(visible_at_us), position LIMIT 1"
assert AGE in sqlite._DUE
sqlite._DUE = sqlite._DUE.replace(AGE, MOMENT)


def nak(self: sqlite.SqliteQueue, delivery: str) -> None:
    with self.store.transaction() as tx:
        tx.execute(
            "UPDATE deliveries SET visible_at_us = -?"
            " WHERE consumer = ? AND position = ? AND delivery_count = ? AND visible_at_us > 0",
            (tx.now_us, *sqlite._parts(delivery)),
        )


sqlite.SqliteQueue.nak = nak  # type: ignore[method-assign]

if __name__ == "__main__":
    serve({"timeline": TimelineBus})
