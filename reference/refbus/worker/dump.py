"""The whole state of the store, read at one moment: for resolving what a fault left unknown."""

from __future__ import annotations

import sqlite3
from typing import Any

from refbus.worker.store import Store


class Dump(Store):
    """dump."""

    def dump(self) -> dict[str, Any]:
        """Every table that says what happened, and what SQLite thinks of its file."""
        with self.db.transaction("BEGIN") as connection:
            rows = _Reader(connection)
            stated = connection.execute("SELECT last_seq FROM export_state WHERE id = 1").fetchone()
            return {
                "messages": rows("SELECT * FROM messages ORDER BY seq"),
                "cursors": rows("SELECT * FROM cursors ORDER BY agent_id"),
                "task_claims": rows("SELECT * FROM task_claims ORDER BY task_id"),
                "heartbeats": rows("SELECT * FROM heartbeats ORDER BY agent_id"),
                "archived": rows("SELECT * FROM archived_messages ORDER BY seq"),
                "dead_letters": rows("SELECT * FROM dead_letters ORDER BY agent_id, seq"),
                "task_tokens": rows("SELECT * FROM task_tokens ORDER BY task_id"),
                "export_last_seq": None if stated is None else stated[0],
                "integrity": "; ".join(row[0] for row in connection.execute("PRAGMA integrity_check(10)")),
            }


class _Reader:
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def __call__(self, sql: str) -> list[dict[str, Any]]:
        cursor = self._connection.execute(sql)
        names = [column[0] for column in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in cursor]
