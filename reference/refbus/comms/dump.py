"""The whole state of the store, read at one moment: for resolving what a fault left unknown."""

from __future__ import annotations

import sqlite3
from typing import Any

from refbus.comms.breaker import Breakers


class Dump(Breakers):
    """dump."""

    def dump(self) -> dict[str, Any]:
        """Every table that says what happened, and what SQLite thinks of its file."""
        with self.db.transaction("BEGIN") as connection:
            return {
                "messages": _rows(connection, "SELECT * FROM messages ORDER BY rowid"),
                "deliveries": _rows(connection, "SELECT * FROM message_deliveries ORDER BY message_id, agent_id"),
                "dead_letter_queue": _rows(connection, "SELECT * FROM dead_letter_queue ORDER BY id"),
                "channel_subscriptions": _rows(
                    connection, "SELECT * FROM channel_subscriptions ORDER BY channel_name, agent_id"
                ),
                "agent_status": _rows(connection, "SELECT * FROM agent_status ORDER BY agent_id"),
                "vote_casts": _rows(connection, "SELECT * FROM vote_casts ORDER BY vote_id, agent_id"),
                "integrity": "; ".join(row[0] for row in connection.execute("PRAGMA integrity_check(10)")),
            }


def _rows(connection: sqlite3.Connection, sql: str) -> list[dict[str, Any]]:
    cursor = connection.execute(sql)
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in cursor]
