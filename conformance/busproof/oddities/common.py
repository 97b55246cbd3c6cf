"""The looks for odd things, and how a finding names its subject."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

# The copy, the folder of the original, and the time in epoch milliseconds → the findings
Look = Callable[[sqlite3.Connection, Path, int], Iterable[str]]

SHOWN = 5


def some(names: Sequence[object]) -> str:
    """Their number, and the first few."""
    more = ", …" if len(names) > SHOWN else ""
    return f"{len(names)} ({', '.join(map(str, names[:SHOWN]))}{more})"


def back_in_time(db: sqlite3.Connection, what: str, lane: str, time: str, order: str) -> Iterator[str]:
    """The messages of a lane whose times, in their order, go back; lane, time and order are columns."""
    query = (
        f"SELECT {lane}, count(*) FROM (SELECT {lane}, {time},"
        f" lag({time}) OVER (PARTITION BY {lane} ORDER BY {order}) AS before FROM messages)"
        f" WHERE {time} < before GROUP BY {lane}"
    )
    for name, times in db.execute(query):
        yield f"time goes back {times} times in the order of {what} {name}: a clock was set back"
