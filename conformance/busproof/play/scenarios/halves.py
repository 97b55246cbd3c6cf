"""All changes of one call come in one moment: a constant reader sees the state before the call or the one after it.

A half that a reader sees is one that a kill leaves behind, and seeing it needs no kill. The kit asks SQLite whether
anybody has committed, which costs microseconds, and reads the tables whenever somebody has. A bus that commits twice
does so within a tenth of a millisecond, and a busy machine may not look just then; so triggers of the kit make each
change of a row take longer than the kit has to wait for its turn. A change in a second transaction comes late.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from busproof.play.scenarios.common import joined

TIMES = 4  # of each call
LOOK_S = 0.001
STEPS = 80_000  # some fifty milliseconds, many turns of a scheduler
_EVENTS = ("INSERT", "UPDATE", "DELETE")
_SLOW = f"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {STEPS}) SELECT max(i) FROM n"

Columns = dict[str, str]  # table → those of its columns that belong together
Told = dict[str, list[str]]  # table → rows


def halves(path: Path, columns: Columns, call: Callable[[], object]) -> list[str]:
    """How these columns differed, at any moment of the call, from the state before it and from that after it."""
    with joined(path) as db, slowed(db, columns), ThreadPoolExecutor(1) as pool:
        before, seen = told(db, columns), list[Told]()
        version = db.execute("PRAGMA data_version").fetchone()
        calling = pool.submit(call)
        while not calling.done():
            if (now := db.execute("PRAGMA data_version").fetchone()) != version:
                version = now
                seen.append(told(db, columns))
            time.sleep(LOOK_S)
        calling.result()
        after = told(db, columns)
    return [difference(state, after) for state in seen if state not in (before, after)]


@contextmanager
def slowed(db: sqlite3.Connection, columns: Columns) -> Iterator[None]:
    """Each change of a row of these tables computes for a while, within its transaction."""
    triggers = {f"busproof_{table}_{event}": (table, event) for table in columns for event in _EVENTS}
    for name, (table, event) in triggers.items():
        db.execute(f"CREATE TRIGGER {name} AFTER {event} ON {table} BEGIN SELECT ({_SLOW}); END")
    try:
        yield
    finally:
        for name in triggers:
            db.execute(f"DROP TRIGGER {name}")


def told(db: sqlite3.Connection, columns: Columns) -> Told:
    """All these columns at one moment."""
    db.execute("BEGIN")
    rows = {
        table: [repr(tuple(row)) for row in db.execute(f"SELECT {columns[table]} FROM {table}")] for table in columns
    }
    db.execute("COMMIT")
    return rows


def difference(seen: Told, after: Told) -> str:
    """The rows that were not yet there, and those that still were."""
    missing = [f"{table} lacked {row}" for table in after for row in after[table] if row not in seen[table]]
    left = [f"{table} still had {row}" for table in seen for row in seen[table] if row not in after[table]]
    return ", ".join(f"{text:.160}" for text in missing + left)
