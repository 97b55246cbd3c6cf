"""The newest message is handed out first."""

from typing import Any

from refbus.driver import serve
from refbus.timeline import keys, sqlite
from refbus.timeline.bus import TimelineBus

KILLED_BY = ("timeline.cursor.07",)
ITEM = "corpus:program_01"

_next = sqlite._next


def newest(tx: Any, consumer: str, wanted: Any) -> int | None:
    row = tx.row(
        "SELECT max(position) FROM messages WHERE type = ? AND subject GLOB ?"
        " AND position NOT IN (SELECT position FROM deliveries WHERE consumer = ?)",
        (keys.TOKENS[wanted.kind], wanted.glob, consumer),
    )
    return _next(tx, consumer, wanted) and row[0]


sqlite._next = newest


if __name__ == "__main__":
    serve({"timeline": TimelineBus})
