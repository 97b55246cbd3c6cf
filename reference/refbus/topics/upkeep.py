"""Upkeep: what a person does to the file and no agent may. Sessions that are open see it with their next call."""

from __future__ import annotations

import contextlib
import sqlite3
from typing import Any

from refbus.kernel.errors import Busy, DbBusy
from refbus.kernel.rules import limit as limits
from refbus.topics.route import Topics
from refbus.topics.store import create_missing


class Upkeep(Topics):
    """topic_rename, topic_delete and wipe."""

    def topic_rename(self, topic_id: str, name: str) -> dict[str, Any]:
        """Give a topic another name. Its id, and who has joined, stay."""
        limits.text("name", name)
        with self._transaction() as connection:
            connection.execute("UPDATE topics SET name = ? WHERE topic_id = ?", (name, topic_id))
            return self._topic(connection, topic_id)

    def topic_delete(self, topic_id: str) -> dict[str, Any]:
        """Remove a topic with everything on it. Who has joined gets TOPIC_NOT_FOUND."""
        with self._transaction() as connection:
            topic = self._topic(connection, topic_id)
            # Before the messages, which say what is theirs in the indexes.
            for sql in (_DELETE_INDEXED if _has_index(connection) else ()) + _DELETE:
                connection.execute(sql, (topic_id,))
        return topic

    def wipe(self) -> dict[str, Any]:
        """Empty the file, whatever its version: all tables go, and those of this version are made anew.

        The file itself stays: a server that has it open would go on writing into a deleted one.
        """
        try:
            with self._using:
                with self.db.transaction() as connection:
                    for name, kind in connection.execute(_ALL).fetchall():
                        quoted = name.replace('"', '""')
                        # A table that belongs to a virtual one has gone with it.
                        connection.execute(f'DROP {kind} IF EXISTS "{quoted}"')
                    create_missing(connection)
                self._shrink()
        except Busy as error:
            raise DbBusy(f"another process holds the database: {error}") from error
        return {"path": str(self.path)}

    def _shrink(self) -> None:
        """Leave nothing of the old content in the file. If somebody reads just now, the next writes do that."""
        with contextlib.suppress(Busy):
            self.db.write("VACUUM")
            self.db.rows("PRAGMA wal_checkpoint(TRUNCATE)")


def _has_index(connection: sqlite3.Connection) -> bool:
    return connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'search_index'").fetchone() is not None


_ALL = """
    SELECT name, type FROM sqlite_master
    WHERE type IN ('table', 'view', 'trigger') AND name NOT LIKE 'sqlite!_%' ESCAPE '!'
    ORDER BY type <> 'trigger', sql NOT LIKE 'CREATE VIRTUAL TABLE%'
"""

_DELETE_INDEXED = ("DELETE FROM search_index WHERE message_id IN (SELECT message_id FROM messages WHERE topic_id = ?)",)

_DELETE = (
    "DELETE FROM passages WHERE message_id IN (SELECT message_id FROM messages WHERE topic_id = ?)",
    "DELETE FROM search_state WHERE topic_id = ?",
    "DELETE FROM messages WHERE topic_id = ?",
    "DELETE FROM cursors WHERE topic_id = ?",
    "DELETE FROM agent_name_reservations WHERE topic_id = ?",
    "DELETE FROM reservation_fences WHERE topic_id = ?",
    "DELETE FROM topic_seq WHERE topic_id = ?",
    "DELETE FROM topics WHERE topic_id = ?",
)
