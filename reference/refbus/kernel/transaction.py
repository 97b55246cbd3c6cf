"""A transaction as the faces see it: one connection, and one moment."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

from refbus.kernel.db import fetch

Values = Sequence[Any] | dict[str, Any]


class Transaction:
    """An open transaction. Its time is read once, so all that it writes and judges by happens at one moment."""

    __slots__ = ("connection", "execute", "executemany", "now_ms", "now_us")

    def __init__(self, connection: sqlite3.Connection, now_us: int) -> None:
        self.connection = connection
        self.now_us, self.now_ms = now_us, now_us // 1_000
        # The connection's own, not methods that call them: a wrapper costs a tenth of a short statement.
        self.execute, self.executemany = connection.execute, connection.executemany

    @property
    def now_s(self) -> float:
        """Unix seconds."""
        return self.now_us / 1_000_000

    def rows(self, sql: str, values: Values = ()) -> list[Any]:
        """All rows, whatever bytes a stranger stored as text."""
        return fetch(self.connection, sql, values)

    def row(self, sql: str, values: Values = ()) -> Any:
        """The first row, or None."""
        try:
            return self.execute(sql, values).fetchone()
        except sqlite3.Error:
            rows = self.rows(sql, values)  # raises again, unless only the text was bad
            return rows[0] if rows else None

    def dicts(self, sql: str, values: Values = ()) -> list[dict[str, Any]]:
        """All rows, each as its columns by name."""
        names = [column[0] for column in self.connection.execute(sql, values).description]
        return [dict(zip(names, row, strict=True)) for row in self.rows(sql, values)]

    def integrity(self) -> str:
        """SQLite's opinion of its file: `ok`, or the faults."""
        return "; ".join(row[0] for row in self.connection.execute("PRAGMA integrity_check(10)"))
