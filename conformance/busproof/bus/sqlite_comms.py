"""The kit itself as a participant on a `comms` project, by the letter of seed 001 and of the decisions marked M.

An independent implementation of the core: sending, receiving, claiming, completing, the way to the dead letters. It
shares no code with the reference, only the tables: the seed's, and `message_deliveries` (docs/decisions/0012).
"""

from __future__ import annotations

import json
import sqlite3
import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from busproof.bus.base import Refused
from busproof.bus.participant import Participant
from busproof.contract.comms import COMMS_TABLES, FAILURES_MAX, VISIBILITY_MS, Envelope

DELIVERIES = """
CREATE TABLE IF NOT EXISTS message_deliveries (
  message_id TEXT NOT NULL, agent_id TEXT NOT NULL, status TEXT NOT NULL, delivery_count INTEGER NOT NULL,
  failures INTEGER NOT NULL, visible_at TEXT NOT NULL, error TEXT, PRIMARY KEY (message_id, agent_id)) WITHOUT ROWID;
"""
ENVELOPE = tuple(Envelope.model_fields)  # columns of `messages`, too


def iso(at_ms: float) -> str:
    """Microseconds and Z (C7)."""
    return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=at_ms)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


class CommsParticipant(Participant):
    """The seed's core of `comms`, on one connection."""

    system = "comms"
    nouns = ("log", "route", "lease")
    features = ("dump", "sqlite", "delivery_count")
    clock = "manual"

    def _open(self, store: str, options: dict[str, Any]) -> dict[str, Any]:
        self.kill()
        self._store = Path(store)
        folder = self._store / ".claude" / "communications"
        folder.mkdir(parents=True, exist_ok=True)
        version = folder / "protocol_version.txt"
        if not version.exists():
            scratch = folder / f"{uuid.uuid4()}.tmp"
            scratch.write_text("1.0")
            scratch.replace(version)  # whoever opens meanwhile finds it whole
        if version.read_text().strip() != "1.0":
            raise Refused("SCHEMA_MISMATCH", "protocol_version.txt is not 1.0", definite=True)
        (self._store / ".claude" / "artifacts").mkdir(exist_ok=True)
        db = self._connect(folder / "messages.db")
        db.executescript("BEGIN IMMEDIATE;" + COMMS_TABLES + DELIVERIES + "COMMIT;")
        return {}

    def _send_message(
        self,
        from_agent: str,
        message_type: str,
        payload: dict[str, Any],
        to_agent: str | None = None,
        channel: str = "general",
        priority: int = 5,
        correlation_id: str | None = None,
        **more: Any,
    ) -> dict[str, Any]:
        texts = [from_agent, message_type, channel, *(t for t in (to_agent, correlation_id) if t is not None)]
        is_good = (
            all(isinstance(text, str) and text and "\0" not in text for text in texts)
            and not any("/" in name or ".." in name for name in (from_agent, to_agent or ""))
            and type(priority) is int
            and 1 <= priority <= 10
            and type(payload) is dict
            and more.keys() <= {"ttl_seconds"}
        )
        if not is_good:
            raise Refused("INVALID_ARGUMENT", "not a message", definite=True)
        try:
            text = json.dumps(payload, allow_nan=False)
        except ValueError as error:
            raise Refused("INVALID_ARGUMENT", str(error), definite=True) from error
        ttl_s = more.get("ttl_seconds", 300 if channel == "urgent" else 3600)
        if ttl_s is not None and (type(ttl_s) is not int or not 0 <= ttl_s < 2**31):
            raise Refused("INVALID_ARGUMENT", "ttl_seconds", definite=True)
        now, message_id = iso(self._time()), str(uuid.uuid4())
        expires = None if ttl_s is None else iso(self._time() + ttl_s * 1000)
        db = self._conn
        db.execute("BEGIN IMMEDIATE")
        db.execute(
            "INSERT INTO messages (id, type, version, timestamp, correlation_id, from_agent, to_agent, channel,"
            " priority, payload, created_at, expires_at) VALUES (?, ?, '1.0', ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                message_id,
                message_type,
                now,
                correlation_id,
                from_agent,
                to_agent,
                channel,
                priority,
                text,
                now,
                expires,
            ),
        )
        if to_agent is not None:
            self._count(to_agent, "messages_pending", 1)
        db.execute("COMMIT")
        return {"message_id": message_id}

    def _count(self, agent_id: str, column: str, by: int) -> None:
        self._conn.execute(
            "INSERT OR IGNORE INTO agent_status (agent_id, status, last_heartbeat) VALUES (?, 'idle', ?)",
            (agent_id, iso(0)),
        )
        update = {
            "messages_pending": "UPDATE agent_status SET messages_pending = max(0, messages_pending + ?)",
            "messages_processed": "UPDATE agent_status SET messages_processed = messages_processed + ?",
            "error_count": "UPDATE agent_status SET error_count = error_count + ?",
        }[column]
        self._conn.execute(f"{update} WHERE agent_id = ?", (by, agent_id))

    def _receive_messages(
        self, agent_id: str, channels: list[str], limit: int = 10, timeout_seconds: float | None = None
    ) -> dict[str, Any]:
        _names(agent_id)
        if type(channels) is not list or not all(isinstance(c, str) and c for c in channels):
            raise Refused("INVALID_ARGUMENT", "channels", definite=True)
        if type(limit) is not int or not 0 <= limit < 2**31:
            raise Refused("INVALID_ARGUMENT", "limit", definite=True)
        marks = ", ".join("?" * len(channels))
        rows = self._conn.execute(
            f"SELECT * FROM messages WHERE channel IN ({marks}) AND (to_agent = ? OR to_agent IS NULL)"
            " AND typeof(id) = 'text' AND (expires_at IS NULL OR expires_at > ?)"
            " ORDER BY priority DESC, timestamp, rowid",
            (*channels, agent_id, iso(self._time())),
        ).fetchall()
        ready = [row for row in rows if self._is_there(row, agent_id)]
        return {"messages": [_envelope(row) for row in ready[:limit]]}

    def _delivery(self, message_id: str, agent_id: str) -> sqlite3.Row | None:
        row: sqlite3.Row | None = self._conn.execute(
            "SELECT * FROM message_deliveries WHERE message_id = ? AND agent_id = ?", (message_id, agent_id)
        ).fetchone()
        return row

    def _is_there(self, row: sqlite3.Row, agent_id: str) -> bool:
        """Pending, or claimed or failed and due again (C1, C2, C3)."""
        own = self._delivery(row["id"], agent_id)
        if row["to_agent"] is None:
            return own is None or (own["status"] in ("processing", "failed") and own["visible_at"] <= iso(self._time()))
        if row["status"] not in ("processing", "failed"):
            return bool(row["status"] == "pending")
        if own is not None and own["status"] == row["status"]:
            return bool(own["visible_at"] <= iso(self._time()))
        return bool((row["last_delivered_at"] or "") <= iso(self._time() - VISIBILITY_MS))

    def _claim_message(self, agent_id: str, message_id: str) -> dict[str, Any]:
        _names(agent_id, message_id)
        db = self._conn
        db.execute("BEGIN IMMEDIATE")
        row = db.execute(
            "SELECT * FROM messages WHERE id = ? AND (to_agent = ? OR to_agent IS NULL)"
            " AND (expires_at IS NULL OR expires_at > ?)",
            (message_id, agent_id, iso(self._time())),
        ).fetchone()
        if row is None or not self._is_there(row, agent_id):
            db.execute("ROLLBACK")
            return {"claimed": False}
        own = self._delivery(message_id, agent_id)
        is_directed = row["to_agent"] is not None
        count = 1 + max(own["delivery_count"] if own else 0, (row["delivery_count"] or 0) if is_directed else 0)
        until = iso(self._time() + VISIBILITY_MS)
        self._store_delivery(message_id, agent_id, "processing", count, own["failures"] if own else 0, until, None)
        if is_directed:
            db.execute(
                "UPDATE messages SET status = 'processing', delivery_count = ?, last_delivered_at = ? WHERE id = ?",
                (count, iso(self._time()), message_id),
            )
            if row["status"] == "pending":
                self._count(agent_id, "messages_pending", -1)
        db.execute("COMMIT")
        return {"claimed": True, "delivery_count": count, "visible_at": until}

    def _store_delivery(self, *values: Any) -> None:
        self._conn.execute("INSERT OR REPLACE INTO message_deliveries VALUES (?, ?, ?, ?, ?, ?, ?)", values)

    def _complete_message(
        self, message_id: str, error: str | None = None, agent_id: str | None = None, delivery_count: int | None = None
    ) -> dict[str, Any]:
        _names(message_id)
        if error is not None and (type(error) is not str or not error):
            raise Refused("INVALID_ARGUMENT", "error", definite=True)
        db = self._conn
        db.execute("BEGIN IMMEDIATE")
        row = db.execute("SELECT * FROM messages WHERE id = ?", (message_id,)).fetchone()
        owner = row["to_agent"] or agent_id if row else None
        own = self._delivery(message_id, owner) if owner else None
        if own is None or agent_id not in (None, owner) or delivery_count not in (None, own["delivery_count"]):
            raise Refused("NOT_CLAIMED", message_id, definite=True)
        if own["status"] == "pending":  # due again: late work counts, a failure does not come back (C18)
            if own["error"] is not None:
                raise Refused("NOT_CLAIMED", message_id, definite=True)
            self._count(str(owner), "messages_pending", -1)
        elif own["status"] != "processing":
            db.execute("ROLLBACK")
            return {"status": own["status"]}
        status = self._finish(row, str(owner), own, error)
        db.execute("COMMIT")
        return {"status": status}

    def _finish(self, row: sqlite3.Row, owner: str, own: sqlite3.Row, error: str | None) -> str:
        """Done; failed and due again after a while; or, at the third failure, a dead letter."""
        db, failures = self._conn, own["failures"] + (error is not None)
        status = "done" if error is None else "dead" if failures >= FAILURES_MAX else "failed"
        due = iso(self._time() + 1000 * 2 ** max(0, failures - 1))
        self._store_delivery(row["id"], owner, status, own["delivery_count"], failures, due, error)
        self._count(owner, "messages_processed" if error is None else "error_count", 1)
        if status == "dead":
            envelope = {**_envelope(row), "created_at": row["created_at"], "expires_at": row["expires_at"]}
            taken = db.execute("SELECT 1 FROM dead_letter_queue WHERE id = ?", (row["id"],)).fetchone()
            letter = row["id"] if row["to_agent"] and not taken else f"{row['id']}:{owner}"
            db.execute(
                "INSERT OR REPLACE INTO dead_letter_queue VALUES (?, ?, ?, ?, ?)",
                (letter, json.dumps(envelope), error, iso(self._time()), own["delivery_count"]),
            )
            if row["to_agent"]:
                db.execute("DELETE FROM messages WHERE id = ?", (row["id"],))
                db.execute("DELETE FROM message_deliveries WHERE message_id = ?", (row["id"],))
        elif row["to_agent"]:
            db.execute("UPDATE messages SET status = ?, error = ? WHERE id = ?", (status, error, row["id"]))
        return status

    def _cleanup_expired_messages(self) -> dict[str, Any]:
        db, now = self._conn, iso(self._time())
        db.execute("BEGIN IMMEDIATE")
        gone = db.execute(
            "SELECT id, to_agent, status FROM messages AS m WHERE expires_at <= ? AND status <> 'processing'"
            " AND NOT EXISTS (SELECT 1 FROM message_deliveries AS d WHERE d.message_id = m.id"
            " AND d.status = 'processing' AND d.visible_at > ?)",
            (now, now),
        ).fetchall()
        for row in gone:
            db.execute("DELETE FROM messages WHERE id = ?", (row["id"],))
            db.execute("DELETE FROM message_deliveries WHERE message_id = ?", (row["id"],))
            if row["to_agent"] and row["status"] == "pending":
                self._count(row["to_agent"], "messages_pending", -1)
        db.execute("COMMIT")
        return {"deleted": len(gone)}

    def _send_response(
        self,
        original_message: dict[str, Any],
        response_payload: dict[str, Any],
        artifact_path: str | None = None,
        agent_id: str | None = None,
    ) -> dict[str, Any]:
        try:
            sender = str(original_message["to_agent"] or agent_id)
            kind = original_message["type"].removesuffix(".query") + ".response"
            payload = dict(response_payload)
            if artifact_path is not None:
                if not artifact_path.startswith(".claude/artifacts/") or ".." in artifact_path:
                    raise ValueError(artifact_path)
                payload["artifact_path"] = artifact_path
            correlation = original_message.get("correlation_id") or original_message["id"]
            more = {"channel": original_message["channel"], "priority": original_message["priority"]}
            to_agent = original_message["from_agent"]
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise Refused("INVALID_ARGUMENT", repr(error), definite=True) from error
        return self._send_message(
            from_agent=sender, to_agent=to_agent, message_type=kind, payload=payload, correlation_id=correlation, **more
        )

    def _subscribe_to_channel(self, agent_id: str, channel_name: str) -> dict[str, Any]:
        _names(agent_id, channel_name)
        self._conn.execute(
            "INSERT OR IGNORE INTO channel_subscriptions VALUES (?, ?, ?)", (channel_name, agent_id, iso(self._time()))
        )
        return {}

    def _unsubscribe_from_channel(self, agent_id: str, channel_name: str) -> dict[str, Any]:
        _names(agent_id, channel_name)
        self._conn.execute(
            "DELETE FROM channel_subscriptions WHERE channel_name = ? AND agent_id = ?", (channel_name, agent_id)
        )
        return {}

    def _get_subscribed_channels(self, agent_id: str) -> dict[str, Any]:
        _names(agent_id)
        rows = self._conn.execute("SELECT channel_name FROM channel_subscriptions WHERE agent_id = ?", (agent_id,))
        return {"channels": [row[0] for row in rows]}

    def _dump(self) -> dict[str, Any]:
        db = self._conn

        def rows(query: str) -> list[dict[str, Any]]:
            return [dict(row) for row in db.execute(query)]

        return {
            "messages": rows("SELECT * FROM messages ORDER BY rowid"),
            "deliveries": rows("SELECT * FROM message_deliveries"),
            "dead_letter_queue": rows("SELECT * FROM dead_letter_queue"),
            "agent_status": rows("SELECT * FROM agent_status"),
            "channel_subscriptions": rows("SELECT * FROM channel_subscriptions"),
            "integrity": db.execute("PRAGMA integrity_check").fetchone()[0],
        }


def _names(*values: object) -> None:
    if not all(isinstance(v, str) and v and "\0" not in v and len(v) < 1024 for v in values):
        raise Refused("INVALID_ARGUMENT", f"not a name: {ascii(values)[:100]}", definite=True)
    if "/" in str(values[0]) or ".." in str(values[0]):
        raise Refused("INVALID_ARGUMENT", f"not a name: {ascii(values)[:100]}", definite=True)


def _envelope(row: sqlite3.Row) -> dict[str, Any]:
    message = {name: row[name] for name in ENVELOPE}
    try:
        payload = json.loads(row["payload"])
    except ValueError:
        payload = None
    if type(payload) is not dict:
        return {**message, "payload": {}, "payload_error": "damaged"}
    return {**message, "payload": payload}
