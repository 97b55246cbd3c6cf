"""The kit's hand on a record of `timeline`: it holds the file's write lock, so that calls race for it, and tampers.

`dump` tells the content of the record.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

from busproof.bus.hand import Hand
from busproof.oracle.models.timeline_keys import token

NAMES = ("timeline", "parent")  # columns that hold names, as tokens

Changed = tuple[str, dict[str, Any], dict[str, Any] | None]  # table, the row as it was, as it is; None: it is gone


class TimelineHand(Hand):
    """Somebody at the file."""

    DATABASE = "timeline.db"

    def __init__(self, store: Path) -> None:
        super().__init__(store)
        self._changed: list[Changed] = []

    def tamper(self, table: str, timeline: str, column: str, value: Any, number: int | None = None) -> dict[str, Any]:
        """Change one column of a timeline's row, or of its message `number`."""
        before = self._row(table, timeline, number)
        after = before | {column: token(value) if column in NAMES else value}
        self._replace(table, before, after)
        self._changed.append((table, before, after))
        return {"is_other": after != before}

    def take_out(self, timeline: str, number: int) -> dict[str, Any]:
        """Remove message `number` of a timeline."""
        before = self._row("messages", timeline, number)
        self._replace("messages", before, None)
        self._changed.append(("messages", before, None))
        return {"is_other": True}

    def mend(self) -> dict[str, Any]:
        """Undo the changes, the last first."""
        while self._changed:
            table, before, after = self._changed.pop()
            self._replace(table, after, before)
        return {}

    def _row(self, table: str, timeline: str, number: int | None) -> dict[str, Any]:
        where, of = "timeline = :timeline", {"timeline": token(timeline), "number": number}
        if number is not None:
            where += " AND number = :number"
        cursor = self.db.execute(f"SELECT * FROM {table} WHERE {where}", of)
        names, row = [column[0] for column in cursor.description], cursor.fetchone()
        if row is None:
            raise sqlite3.DataError(f"no such row of {table}")
        return dict(zip(names, row, strict=True))

    def _replace(self, table: str, old: dict[str, Any] | None, new: dict[str, Any] | None) -> None:
        """One row by another, in one transaction; None is no row."""
        key = "timeline = :timeline" + (" AND number = :number" if table == "messages" else "")
        with self.db:
            self.db.execute("BEGIN IMMEDIATE")
            if old is not None:
                self.db.execute(f"DELETE FROM {table} WHERE {key}", old)
            if new is not None:
                columns = ", ".join(f":{name}" for name in new)
                self.db.execute(f"INSERT INTO {table} ({', '.join(new)}) VALUES ({columns})", new)
