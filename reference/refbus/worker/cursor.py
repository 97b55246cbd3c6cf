"""The cursor: poll shows what an agent has not acknowledged, ack moves on, and only forward."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from typing import Any, NoReturn

from refbus.kernel import jsontext
from refbus.kernel.errors import BlobCorrupt, BlobInvalid, BlobMissing
from refbus.kernel.rules import cursor
from refbus.kernel.rules import limit as limits
from refbus.worker import signing
from refbus.worker.log import Log

WAIT_MS_MAX = 24 * 60 * 60 * 1000


class Cursors(Log):
    """poll and ack."""

    def poll(self, agent_id: str, limit: int = 100, wait_ms: int = 0) -> dict[str, Any]:
        """Unacknowledged messages, in seq order. Never moves the cursor. Waits up to wait_ms for a first one."""
        limits.name("agent_id", agent_id)
        limits.integer("limit", limit)
        limits.integer("wait_ms", wait_ms, 0, WAIT_MS_MAX)
        messages = self._unread(agent_id, limit)
        if not messages and wait_ms and limit:
            messages = self.wait_for(lambda: self._unread(agent_id, limit), wait_ms / 1000)
        return {"messages": messages}

    def ack(self, agent_id: str, seq: int) -> dict[str, Any]:
        """Everything up to seq is processed. Backwards is a no-op; above the newest seq is refused (W5)."""
        limits.name("agent_id", agent_id)
        limits.integer("seq", seq)
        newest, current, has_more = self.db.row(_BEFORE_ACK, {"agent": agent_id})
        # Judged without the lock: both numbers only ever grow, so a yes stays a yes.
        moved_to = cursor.advance(current, seq, newest)
        if has_more:
            return {"last_acked_seq": self._ack_and_settle(agent_id, seq)}
        self.db.write(_ADVANCE, (agent_id, seq, self._now_ms()))
        return {"last_acked_seq": moved_to}

    def _ack_and_settle(self, agent_id: str, seq: int) -> int:
        """An acknowledgement also settles counted deliveries, and what was redriven and handed out."""
        with self.db.transaction() as connection:
            connection.execute(_ADVANCE, (agent_id, seq, self._now_ms()))
            connection.execute("DELETE FROM deliveries WHERE agent_id = ? AND seq <= ?", (agent_id, seq))
            connection.execute("DELETE FROM redriven WHERE agent_id = ? AND seq <= ? AND is_delivered", (agent_id, seq))
            return self._position(connection, agent_id)

    def _position(self, connection: sqlite3.Connection, agent_id: str) -> int:
        row = connection.execute("SELECT last_acked_seq FROM cursors WHERE agent_id = ?", (agent_id,)).fetchone()
        return 0 if row is None else int(row[0])

    def _unread(self, agent_id: str, limit: int) -> list[dict[str, Any]]:
        rows = self.db.rows(_UNREAD, (agent_id, limit))
        if self.db.rows("SELECT 1 FROM redriven WHERE agent_id = ? LIMIT 1", (agent_id,)):
            rows = self._with_redriven(agent_id, limit)
        return self.deliver(rows)

    def _with_redriven(self, agent_id: str, limit: int) -> list[Any]:
        """Redriven messages lie below the cursor and so come first. Handed out, they can be acknowledged."""
        with self.db.transaction() as connection:
            redriven = connection.execute(_REDRIVEN, (agent_id, limit)).fetchall()
            connection.executemany(
                "UPDATE redriven SET is_delivered = 1 WHERE agent_id = ? AND seq = ?",
                [(agent_id, row[0]) for row in redriven],
            )
            unread = connection.execute(_UNREAD, (agent_id, limit - len(redriven))).fetchall()
        return redriven + unread

    def deliver(self, rows: Iterable[tuple[Any, ...]]) -> list[dict[str, Any]]:
        """Rows as their reader sees them: payloads decoded and resolved, or said to be damaged.

        The loop handles the usual row, a short inline payload, by itself: it is most of what a poll costs.
        """
        messages = []
        scan = jsontext.scan if self._signing_key is None else _look_closer
        for row in rows:
            seq, message_id, ts_ms, from_agent, to_agent, type_, correlation_id, in_reply_to, text, _ = row
            message = {
                "seq": seq,
                "id": message_id,
                "ts_ms": ts_ms,
                "from_agent": from_agent,
                "to_agent": to_agent,
                "type": type_,
                "correlation_id": correlation_id,
                "in_reply_to": in_reply_to,
            }
            try:
                value, end = scan(text, 0)
                is_whole = end == len(text) <= jsontext.SURELY_SHALLOW_CHARS
            except (StopIteration, TypeError, ValueError, RecursionError):
                is_whole = False
            if is_whole:
                message["payload"] = value
            else:
                self._add_payload(message, row)
            messages.append(message)
        return messages

    def _add_payload(self, message: dict[str, Any], row: tuple[Any, ...]) -> None:
        """The payload of any row: absent, long, in a blob, damaged, or to be verified first."""
        text, ref = row[-2:]
        if ref is not None:
            message["payload_ref"] = ref
        if self._signing_key is not None and not self._is_signed(row):
            message["payload_error"] = "bad_signature"
            return
        try:
            if ref is not None:
                text = self._load_text(ref)
            if text is not None:
                message["payload"] = jsontext.decode(text)
        except BlobMissing:
            message["payload_error"] = "blob_missing"
        except BlobInvalid:
            message["payload_error"] = "blob_invalid"
        except BlobCorrupt:
            message["payload_error"] = "blob_corrupt"
        except ValueError:
            message["payload_error"] = "decode_failed"

    def _is_signed(self, row: tuple[Any, ...]) -> bool:
        assert self._signing_key is not None
        found = self.db.row("SELECT mac FROM signatures WHERE seq = ?", (row[0],))
        return found is not None and signing.is_signed(self._signing_key, row, found[0])


def _look_closer(text: object, start: int) -> NoReturn:
    raise ValueError("a signature is verified before the payload is read")


# The two parts of the log that concern an agent, each read in index order and merged: the cost depends on the limit,
# not on how much is stored. (The seed's OR sorts everything unread.)
_UNREAD = """
    SELECT seq, id, ts_ms, from_agent, to_agent, type, correlation_id, in_reply_to, payload, payload_ref
    FROM messages
    WHERE to_agent = ?1 AND seq > coalesce((SELECT last_acked_seq FROM cursors WHERE agent_id = ?1), 0)
    UNION ALL
    SELECT seq, id, ts_ms, from_agent, to_agent, type, correlation_id, in_reply_to, payload, payload_ref
    FROM messages
    WHERE to_agent IS NULL AND seq > coalesce((SELECT last_acked_seq FROM cursors WHERE agent_id = ?1), 0)
    ORDER BY seq LIMIT ?2
"""

_REDRIVEN = """
    SELECT seq, id, ts_ms, from_agent, to_agent, type, correlation_id, in_reply_to, payload, payload_ref
    FROM messages WHERE seq IN (SELECT seq FROM redriven WHERE agent_id = ?1)
    ORDER BY seq LIMIT ?2
"""

_BEFORE_ACK = """
    SELECT max(coalesce((SELECT max(seq) FROM messages), 0), coalesce((SELECT max(seq) FROM archived_messages), 0)),
           coalesce((SELECT last_acked_seq FROM cursors WHERE agent_id = :agent), 0),
           EXISTS (SELECT 1 FROM deliveries WHERE agent_id = :agent)
           OR EXISTS (SELECT 1 FROM redriven WHERE agent_id = :agent)
"""

_ADVANCE = """
    INSERT INTO cursors (agent_id, last_acked_seq, updated_at_ms) VALUES (?, ?, ?)
    ON CONFLICT (agent_id) DO UPDATE SET
        last_acked_seq = max(cursors.last_acked_seq, excluded.last_acked_seq),
        updated_at_ms = excluded.updated_at_ms
"""
