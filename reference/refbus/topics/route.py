"""Topics: named lanes. Each keeps its own dense sequence of messages, and a closed one is only read."""

from __future__ import annotations

import sqlite3
from typing import Any

from refbus.kernel.errors import InvalidArgument, TopicNotFound
from refbus.kernel.rules import limit as limits
from refbus.topics.message import metadata_text, metadata_value
from refbus.topics.store import Store, new_id


class Topics(Store):
    """topic_create, topic_list, topic_resolve and topic_close."""

    def topic_create(
        self, name: str | None = None, metadata: dict[str, Any] | None = None, mode: str = "reuse"
    ) -> dict[str, Any]:
        """The newest open topic of that name, or a new one; `new` never reuses (B2: in one transaction)."""
        if name is not None:
            limits.text("name", name)
        _one_of("mode", mode, ("reuse", "new"))
        metadata_json = metadata_text("metadata", metadata)
        with self._transaction() as connection:
            found = None if mode == "new" or name is None else _newest(connection, name, "open")
            if found is not None:
                return found
            topic_id = _free_id(connection)
            name = f"topic-{topic_id}" if name is None else name
            now = self._now()
            connection.execute(_CREATE, (topic_id, name, now, metadata_json))
            connection.execute(
                "INSERT INTO topic_seq (topic_id, next_seq, updated_at) VALUES (?, 1, ?)", (topic_id, now)
            )
        return {"topic_id": topic_id, "name": name, "status": "open"}

    def topic_list(self, status: str = "open") -> dict[str, Any]:
        """Topics, the newest first."""
        _one_of("status", status, ("open", "closed", "all"))
        with self._snapshot() as connection:
            rows = connection.execute(_LIST, {"status": status}).fetchall()
        return {
            "topics": [
                {
                    "topic_id": topic_id,
                    "name": name,
                    "status": is_open,
                    "created_at": created_at,
                    "closed_at": closed_at,
                    "close_reason": reason,
                    "metadata": metadata_value(metadata_json),
                }
                for topic_id, name, is_open, created_at, closed_at, reason, metadata_json in rows
            ]
        }

    def topic_resolve(self, name: str, allow_closed: bool = False) -> dict[str, Any]:
        """The newest open topic of that name; if there is none and it is allowed, the newest closed one."""
        limits.text("name", name)
        limits.flag("allow_closed", allow_closed)
        with self._snapshot() as connection:
            return self._resolve(connection, name, allow_closed)

    def topic_close(self, topic_id: str, reason: str | None = None) -> dict[str, Any]:
        """Let nobody send to the topic any more. A second close changes nothing and says ALREADY_CLOSED."""
        limits.text("topic_id", topic_id)
        if reason is not None:
            limits.body("reason", reason, limits.TEXT_CHARS_MAX)
        with self._transaction() as connection:
            is_closing = connection.execute(_CLOSE, (self._now(), reason, topic_id)).rowcount == 1
            row = connection.execute(
                "SELECT status, closed_at, close_reason FROM topics WHERE topic_id = ?", (topic_id,)
            ).fetchone()
            if row is None:
                raise no_topic(topic_id)
        reply = {"topic_id": topic_id, "status": row[0], "closed_at": row[1], "close_reason": row[2]}
        if not is_closing:
            said = "The topic was closed before; nothing was changed."
            reply["warnings"] = [{"code": "ALREADY_CLOSED", "message": said, "context": {"topic_id": topic_id}}]
        return reply

    def _resolve(self, connection: sqlite3.Connection, name: str, allow_closed: bool) -> dict[str, Any]:
        found = _newest(connection, name, "open")
        if found is None and allow_closed:
            found = _newest(connection, name, "closed")
        if found is None:
            raise TopicNotFound(
                f"no {'' if allow_closed else 'open '}topic is named {name!r:.80}; topic_list shows what there is"
            )
        return found

    def _topic(self, connection: sqlite3.Connection, topic_id: str) -> dict[str, Any]:
        row = connection.execute("SELECT topic_id, name, status FROM topics WHERE topic_id = ?", (topic_id,)).fetchone()
        if row is None:
            raise no_topic(topic_id)
        return dict(zip(("topic_id", "name", "status"), row, strict=True))


def no_topic(topic_id: str) -> TopicNotFound:
    """Nobody created it, or it was deleted."""
    return TopicNotFound(f"no topic has the id {topic_id!r:.80}; topic_list shows what there is")


def _newest(connection: sqlite3.Connection, name: str, status: str) -> dict[str, Any] | None:
    row = connection.execute(_NEWEST, (name, status)).fetchone()
    return None if row is None else {"topic_id": row[0], "name": name, "status": status}


def _free_id(connection: sqlite3.Connection) -> str:
    while True:
        topic_id = new_id()
        if not connection.execute("SELECT 1 FROM topics WHERE topic_id = ?", (topic_id,)).fetchone():
            return topic_id


def _one_of(what: str, value: object, known: tuple[str, ...]) -> None:
    if value not in known:
        raise InvalidArgument(f"{what} must be one of {', '.join(known)}, not {value!a:.40}")


_CREATE = """
    INSERT INTO topics (topic_id, name, created_at, status, closed_at, close_reason, metadata_json)
    VALUES (?, ?, ?, 'open', NULL, NULL, ?)
"""

_NEWEST = """
    SELECT topic_id FROM topics WHERE name = ? AND status = ? ORDER BY created_at DESC, rowid DESC LIMIT 1
"""

_LIST = """
    SELECT topic_id, name, status, created_at, closed_at, close_reason, metadata_json
    FROM topics WHERE :status = 'all' OR status = :status
    ORDER BY created_at DESC, rowid DESC
"""

_CLOSE = """
    UPDATE topics SET status = 'closed', closed_at = ?, close_reason = ? WHERE topic_id = ? AND status <> 'closed'
"""
