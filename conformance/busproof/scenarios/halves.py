"""What one call changes comes in one moment: who reads all the while sees what was before it, or what is after it.

A half that a reader sees is one that a kill leaves behind, and to see it needs no kill. The kit asks SQLite whether
anybody has committed, which costs microseconds, and reads the tables whenever somebody has.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from busproof.scenarios.common import joined

TIMES = 30  # of each call: a half stands for a tenth of a millisecond, and a busy machine may not look just then

Columns = dict[str, str]  # table → those of its columns that belong together
Told = dict[str, list[str]]  # table → rows


def halves(path: Path, columns: Columns, call: Callable[[], object]) -> list[str]:
    """In what these columns differed, at any moment of the call, both from before it and from after it."""
    with joined(path) as db, ThreadPoolExecutor(1) as pool:
        before, seen = told(db, columns), list[Told]()
        version = db.execute("PRAGMA data_version").fetchone()
        calling = pool.submit(call)
        while not calling.done():
            if (now := db.execute("PRAGMA data_version").fetchone()) != version:
                version = now
                seen.append(told(db, columns))
        calling.result()
        after = told(db, columns)
    return [difference(one, after) for one in seen if one not in (before, after)]


def told(db: sqlite3.Connection, columns: Columns) -> Told:
    """All of them at one moment."""
    db.execute("BEGIN")
    rows = {
        table: [repr(tuple(row)) for row in db.execute(f"SELECT {columns[table]} FROM {table}")] for table in columns
    }
    db.execute("COMMIT")
    return rows


def difference(seen: Told, after: Told) -> str:
    """What was not yet there, and what still was."""
    missing = [f"{table} lacked {row}" for table in after for row in after[table] if row not in seen[table]]
    left = [f"{table} still had {row}" for table in seen for row in seen[table] if row not in after[table]]
    return ", ".join(f"{one:.160}" for one in missing + left)
