"""The kit itself as a session on a `topics` database, by the letter of seed 004 and of its decisions.

An independent implementation of all tools but the search. It shares no code with the reference, only the tables.
"""

from __future__ import annotations

import json
import secrets
import sqlite3
import time
from pathlib import Path
from typing import Any

from busproof.bus.base import Refused
from busproof.bus.participant import Participant
from busproof.contract.topics import DB_NAME, TOPICS_TABLES

LOOK_S = 0.004
CAPS = {"content_markdown": 65_536, "message_type": 32, "client_message_id": 128}
# A reader's values for a NULL of another program, whose table allows it.
NOT_NULL = {"message_id": "", "sender": "", "message_type": "", "content_markdown": "", "created_at": 0.0}
# The seed leaves the names of its unique indexes open.
_UNIQUE_KEYS = """
CREATE UNIQUE INDEX IF NOT EXISTS idx_messages_client ON messages (topic_id, sender, client_message_id)
  WHERE client_message_id IS NOT NULL
"""

# Columns are named everywhere: another implementation may have its own order, or more of them.
_SET_NEXT_SEQ = "INSERT OR REPLACE INTO topic_seq (topic_id, next_seq, updated_at) VALUES (?, ?, ?)"
_SET_CURSOR = "INSERT OR REPLACE INTO cursors (topic_id, agent_name, last_seq, updated_at) VALUES (?, ?, ?, ?)"


class TopicsParticipant(Participant):
    """One session, on one connection."""

    system = "topics"
    nouns = ("log", "cursor", "route", "lease", "presence", "limit")
    features = ("sqlite",)
    clock = "manual"

    def __init__(self) -> None:
        super().__init__()
        self._mine: dict[str, tuple[str, float]] = {}  # topic → agent name, when it was claimed

    def _open(self, store: str, options: dict[str, Any]) -> dict[str, Any]:
        self._mine = {}
        db = self._connect(Path(store) / DB_NAME)
        db.execute("BEGIN IMMEDIATE")
        # A file that a bus died in making is its own to mend: who reads it must find it as it is.
        is_new = db.execute("SELECT 1 FROM sqlite_master WHERE name = 'meta'").fetchone() is None
        for statement in [*(TOPICS_TABLES.split(";") if is_new else ()), _UNIQUE_KEYS]:
            db.execute(statement)
        db.execute("COMMIT")
        return {}

    def _now_s(self) -> float:
        return time.time() if self._now_ms is None else self._now_ms / 1000

    def _ping(self) -> dict[str, Any]:
        return {"ok": True, "spec_version": "v6.3", "package_version": "1"}

    # -- topics

    def _topic_create(
        self, name: str | None = None, metadata: dict[str, Any] | None = None, mode: str = "reuse"
    ) -> dict[str, Any]:
        _check(name is None or (type(name) is str and name != ""), "name")
        _check(metadata is None or type(metadata) is dict, "metadata")
        _check(mode in ("reuse", "new"), "mode")
        self._conn.execute("BEGIN IMMEDIATE")
        topic = None if mode == "new" or name is None else self._newest(name, "open")
        if topic is None:
            topic_id, now = secrets.token_hex(5), self._now_s()
            name = name or f"topic-{topic_id}"
            kept = None if metadata is None else json.dumps(metadata)
            self._conn.execute(
                "INSERT INTO topics (topic_id, name, created_at, status, metadata_json) VALUES (?, ?, ?, 'open', ?)",
                (topic_id, name, now, kept),
            )
            self._conn.execute(_SET_NEXT_SEQ, (topic_id, 1, now))
            topic = {"topic_id": topic_id, "name": name, "status": "open"}
        self._conn.execute("COMMIT")
        return topic

    def _topic_list(self, status: str = "open") -> dict[str, Any]:
        _check(status in ("open", "closed", "all"), "status")
        rows = self._conn.execute(
            "SELECT * FROM topics WHERE ? IN ('all', status) ORDER BY created_at DESC, rowid DESC", (status,)
        )
        return {"topics": [dict(row) for row in rows]}

    def _topic_resolve(self, name: str, allow_closed: bool = False) -> dict[str, Any]:
        _check(type(name) is str and name != "", "name")
        topic = self._newest(name, "open") or (self._newest(name, "closed") if allow_closed else None)
        return topic or _refuse("TOPIC_NOT_FOUND", name)

    def _topic_close(self, topic_id: str, reason: str | None = None) -> dict[str, Any]:
        _check(reason is None or type(reason) is str, "reason")
        self._conn.execute("BEGIN IMMEDIATE")
        topic = self._topic(topic_id)
        reply: dict[str, Any] = {"topic_id": topic_id, "status": "closed"}
        if topic["status"] == "closed":
            reply["warnings"] = [{"code": "ALREADY_CLOSED", "message": "nothing was changed"}]
        else:
            self._conn.execute(
                "UPDATE topics SET status = 'closed', closed_at = ?, close_reason = ? WHERE topic_id = ?",
                (self._now_s(), reason, topic_id),
            )
        self._conn.execute("COMMIT")
        return reply

    def _newest(self, name: str, status: str) -> dict[str, Any] | None:
        row = self._conn.execute(
            "SELECT topic_id, name, status FROM topics WHERE name = ? AND status = ?"
            " ORDER BY created_at DESC, rowid DESC LIMIT 1",
            (name, status),
        ).fetchone()
        return dict(row) if row else None

    def _topic(self, topic_id: str) -> sqlite3.Row:
        _check(type(topic_id) is str and topic_id != "", "topic_id")
        row: sqlite3.Row | None = self._conn.execute("SELECT * FROM topics WHERE topic_id = ?", (topic_id,)).fetchone()
        return row if row is not None else _refuse("TOPIC_NOT_FOUND", topic_id)

    # -- identity

    def _topic_join(
        self,
        agent_name: str,
        topic_id: str | None = None,
        name: str | None = None,
        allow_closed: bool = False,
        reclaim_token: str | None = None,
    ) -> dict[str, Any]:
        agent_name = agent_name.strip() if type(agent_name) is str else ""
        _check(0 < len(agent_name) <= 64, "agent_name")
        _check((topic_id is None) != (name is None), "exactly one of topic_id and name")
        if topic_id is None:
            topic_id = self._topic_resolve(str(name), allow_closed)["topic_id"]
        self._conn.execute("BEGIN IMMEDIATE")
        topic, now = self._topic(topic_id), self._now_s()
        row = self._reservation(topic_id, agent_name)
        is_mine = row is not None and self._mine.get(topic_id) == (agent_name, row["last_claimed_at"])
        if row is None:
            token = secrets.token_hex(16)
            self._conn.execute(
                "INSERT INTO agent_name_reservations (topic_id, agent_name, reclaim_token, created_at,"
                " last_claimed_at) VALUES (?, ?, ?, ?, ?)",
                (topic_id, agent_name, token, now, now),
            )
        else:
            token = row["reclaim_token"]
            if reclaim_token != token and not (is_mine and reclaim_token is None):
                _refuse("AGENT_NAME_IN_USE", agent_name)
            now = max(now, row["last_claimed_at"] + 0.001)  # nothing else tells a later claim, no matter the clock
            self._conn.execute(
                "UPDATE agent_name_reservations SET last_claimed_at = ? WHERE topic_id = ? AND agent_name = ?",
                (now, topic_id, agent_name),
            )
        self._conn.execute("COMMIT")
        self._mine[topic_id] = (agent_name, now)
        joined = {key: topic[key] for key in ("topic_id", "name", "status")}
        return {**joined, "agent_name": agent_name, "reclaim_token": token}

    def _reservation(self, topic_id: str, agent_name: str) -> sqlite3.Row | None:
        sql = "SELECT * FROM agent_name_reservations WHERE topic_id = ? AND agent_name = ?"
        row: sqlite3.Row | None = self._conn.execute(sql, (topic_id, agent_name)).fetchone()
        return row

    def _me(self, topic_id: str) -> str:
        """The name of this session on the topic, if nobody took it over (B10)."""
        if topic_id not in self._mine:
            _refuse("AGENT_NOT_JOINED", topic_id)
        name, claimed_at = self._mine[topic_id]
        row = self._reservation(topic_id, name)
        if row is None or row["last_claimed_at"] != claimed_at:
            _refuse("AGENT_NOT_JOINED", f"{name} was taken over")
        return name

    def _topic_presence(self, topic_id: str, window_seconds: int = 300, limit: int = 200) -> dict[str, Any]:
        _number("window_seconds", window_seconds, 1)
        _number("limit", limit, 1)
        self._topic(topic_id)
        now = self._now_s()
        rows = self._conn.execute(
            "SELECT agent_name, last_seq, updated_at FROM cursors WHERE topic_id = ? AND updated_at >= ?"
            " ORDER BY updated_at DESC LIMIT ?",
            (topic_id, now - window_seconds, limit),
        )
        return {"peers": [{**row, "age_seconds": max(0.0, now - row["updated_at"])} for row in map(dict, rows)]}

    # -- sync

    def _sync(
        self,
        topic_id: str,
        outbox: list[dict[str, Any]] | None = None,
        max_items: int = 20,
        include_self: bool = False,
        wait_seconds: int = 60,
        auto_advance: bool = True,
        ack_through: int | None = None,
    ) -> dict[str, Any]:
        _number("max_items", max_items, 1, 20)
        _number("wait_seconds", wait_seconds, 0)
        _check(ack_through is None or not auto_advance, "ack_through needs auto_advance=false")
        items = [_item(item) for item in outbox or []]
        _check(len(items) <= 50, "outbox")
        deadline = time.monotonic() + wait_seconds
        reply = self._turn(topic_id, items, max_items, include_self, auto_advance, ack_through)
        sent, warnings = reply["sent"], reply["warnings"]
        while not reply["received"] and time.monotonic() < deadline:
            self._sleep(LOOK_S)
            if self._unread(topic_id, self._me(topic_id), self._cursor(topic_id), include_self, 1):
                reply = self._turn(topic_id, [], max_items, include_self, auto_advance, None)
        status = "ready" if reply["received"] else "timeout" if wait_seconds else "empty"
        return {**reply, "sent": sent, "warnings": warnings, "status": status}

    def _turn(
        self,
        topic_id: str,
        items: list[dict[str, Any]],
        max_items: int,
        include_self: bool,
        auto_advance: bool,
        ack_through: int | None,
    ) -> dict[str, Any]:
        self._conn.execute("BEGIN IMMEDIATE")
        me, now = self._me(topic_id), self._now_s()
        topic, position = self._topic(topic_id), self._cursor(topic_id)
        sent, warnings = [], []
        for item in items:
            record, is_other = self._send(topic, me, item, now)
            sent.append(record)
            if is_other:
                warnings.append({"code": "CONTENT_MISMATCH", "message": "the stored message says otherwise"})
        newest = self._newest_seq(topic_id)
        if ack_through is not None:
            _number("ack_through", ack_through, 0, newest)
            position = max(position, ack_through)
        rows = self._unread(topic_id, me, position, include_self, max_items + 1)
        received = [_message(row) for row in rows[:max_items]]
        if auto_advance:
            position = rows[max_items]["seq"] - 1 if len(rows) > max_items else max(position, newest)
        self._conn.execute(_SET_CURSOR, (topic_id, me, position, now))
        self._conn.execute("COMMIT")
        return {
            "topic_id": topic_id,
            "agent_name": me,
            "received": received,
            "received_count": len(received),
            "has_more": len(rows) > max_items,
            "sent": sent,
            "warnings": warnings,
            "cursor": {"last_seq": position, "updated_at": now},
        }

    def _send(self, topic: sqlite3.Row, me: str, item: dict[str, Any], now: float) -> tuple[dict[str, Any], bool]:
        """The record of an item, and whether a message with other content stands under its key (B6, B7)."""
        topic_id, key = topic["topic_id"], item["client_message_id"]
        known = self._conn.execute(
            "SELECT * FROM messages WHERE topic_id = ? AND sender = ? AND client_message_id = ?", (topic_id, me, key)
        ).fetchone()
        if known is not None:
            same = all(_message(known)[name] == value for name, value in item.items())
            return {"message": _message(known), "duplicate": True}, not same
        if topic["status"] == "closed":
            _refuse("TOPIC_CLOSED", topic_id)
        if item["reply_to"] is not None:
            there = self._conn.execute(
                "SELECT 1 FROM messages WHERE message_id = ? AND topic_id = ?", (item["reply_to"], topic_id)
            ).fetchone()
            _check(there is not None, "reply_to")
        seq = self._newest_seq(topic_id) + 1
        metadata = None if item["metadata"] is None else json.dumps(item["metadata"])
        message_id = secrets.token_hex(5)
        self._conn.execute(
            "INSERT INTO messages (message_id, topic_id, seq, sender, message_type, reply_to, content_markdown,"
            " metadata_json, client_message_id, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                message_id,
                topic_id,
                seq,
                me,
                item["message_type"],
                item["reply_to"],
                item["content_markdown"],
                metadata,
                key,
                now,
            ),
        )
        self._conn.execute(_SET_NEXT_SEQ, (topic_id, seq + 1, now))
        row = self._conn.execute("SELECT * FROM messages WHERE message_id = ?", (message_id,)).fetchone()
        return {"message": _message(row), "duplicate": False}, False

    def _cursor_reset(self, topic_id: str, last_seq: int = 0) -> dict[str, Any]:
        self._conn.execute("BEGIN IMMEDIATE")
        me, now = self._me(topic_id), self._now_s()
        _number("last_seq", last_seq, 0, self._newest_seq(topic_id))
        self._conn.execute(_SET_CURSOR, (topic_id, me, last_seq, now))
        self._conn.execute("COMMIT")
        return {"topic_id": topic_id, "agent_name": me, "cursor": {"last_seq": last_seq, "updated_at": now}}

    def _unread(self, topic_id: str, me: str, after: int, include_self: bool, limit: int) -> list[sqlite3.Row]:
        return self._conn.execute(
            "SELECT * FROM messages WHERE topic_id = ? AND seq > ? AND (? OR sender IS NOT ?) ORDER BY seq LIMIT ?",
            (topic_id, after, include_self, me, limit),
        ).fetchall()

    def _cursor(self, topic_id: str) -> int:
        sql = "SELECT last_seq FROM cursors WHERE topic_id = ? AND agent_name = ?"
        row = self._conn.execute(sql, (topic_id, self._me(topic_id))).fetchone()
        return int(row[0]) if row else 0

    def _newest_seq(self, topic_id: str) -> int:
        sql = "SELECT coalesce(max(seq), 0) FROM messages WHERE topic_id = ?"
        return int(self._conn.execute(sql, (topic_id,)).fetchone()[0])


def _message(row: sqlite3.Row) -> dict[str, Any]:
    members = dict(row)
    metadata = members.pop("metadata_json")
    members |= {name: nothing for name, nothing in NOT_NULL.items() if members[name] is None}
    return {**members, "metadata": None if metadata is None else json.loads(metadata)}


def _item(item: Any) -> dict[str, Any]:
    _check(type(item) is dict, "an outbox item")
    fields = {"message_type": "message", **{key: value for key, value in item.items() if value is not None}}
    for key, chars in CAPS.items():
        value = fields.get(key)
        wanted = key != "client_message_id" or value is not None
        _check(not wanted or (type(value) is str and 0 < len(value) <= chars), key)
    _check(type(fields.get("reply_to", "")) is str, "reply_to")
    _check(type(fields.get("metadata", {})) is dict, "metadata")
    names = ("message_type", "reply_to", "content_markdown", "metadata", "client_message_id")
    return {name: fields.get(name) for name in names}


def _number(name: str, value: Any, least: int, most: int | None = None) -> None:
    _check(type(value) is int and value >= least and (most is None or value <= most), name)


def _check(good: bool, what: str) -> None:
    if not good:
        _refuse("INVALID_ARGUMENT", what)


def _refuse(code: str, what: str) -> Any:
    """Never returns; Any lets it stand where a value is due."""
    raise Refused(code, what, definite=True)
