"""The kit itself as a participant on a `worker` store, by the letter of seed 000.

An independent implementation of the core, in the seed's own SQL: it joins the file that another bus uses (a mixed
fleet), so each side must read the rows that the other writes. It shares no code with the reference.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import sqlite3
import uuid
from pathlib import Path
from typing import Any

from busproof.bus.base import Refused
from busproof.bus.participant import Participant
from busproof.contract.worker import INLINE_BYTES, LEASE_MS, WORKER_TABLES


class WorkerParticipant(Participant):
    """The seed's core of `worker`, on one connection."""

    system = "worker"
    nouns = ("log", "cursor", "route", "lease", "presence")
    features = ("seq", "dump", "sqlite")
    clock = "manual"

    def _open(self, store: str, options: dict[str, Any]) -> dict[str, Any]:
        self.kill()
        self._store = Path(store)
        db = self._connect(self._store / "bus.db")
        db.execute("PRAGMA foreign_keys = ON")
        if db.execute("SELECT 1 FROM sqlite_master WHERE name = 'meta'").fetchone() is None:
            with contextlib.suppress(sqlite3.OperationalError):
                db.executescript("BEGIN IMMEDIATE;" + WORKER_TABLES + "COMMIT;")
        return {}

    def _publish(self, agent_id: str, message: dict[str, Any]) -> dict[str, Any]:
        names = ("id", "to", "type", "correlation_id", "in_reply_to")
        texts = [agent_id, message.get("type"), *(v for n in names if (v := message.get(n)) is not None)]
        if not all(isinstance(text, str) and text for text in texts) or not message.keys() <= {*names, "payload"}:
            raise Refused("INVALID_ARGUMENT", f"not a message: {ascii(message)[:200]}", definite=True)
        text: str | None = json.dumps(message["payload"]) if "payload" in message else None
        ref = self._save_blob(text.encode()) if text is not None and len(text.encode()) > INLINE_BYTES else None
        text = None if ref is not None else text
        row = (
            message.get("id") or str(uuid.uuid4()),
            self._time(),
            agent_id,
            message.get("to"),
            message["type"],
            message.get("correlation_id"),
            message.get("in_reply_to"),
            text,
            ref,
        )
        db = self._conn
        db.execute("BEGIN IMMEDIATE")
        known = db.execute("SELECT * FROM messages WHERE id = ?", (row[0],)).fetchone()
        if known is None:
            seq = db.execute(
                "INSERT INTO messages (id, ts_ms, from_agent, to_agent, type, correlation_id, in_reply_to, payload,"
                " payload_ref) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                row,
            ).lastrowid
        db.execute("COMMIT")
        if known is None:
            return {"id": row[0], "seq": seq}
        if tuple(known)[3:8] != row[2:7] or self._payload(known) != message.get("payload"):
            raise Refused("ID_CONFLICT", f"id {row[0]} is taken", definite=True)
        return {"id": row[0], "seq": known["seq"]}

    def _save_blob(self, data: bytes) -> str:
        ref = f"sha256-{hashlib.sha256(data).hexdigest()}"
        path = self._store / "blobs" / ref
        path.parent.mkdir(exist_ok=True)
        if not path.exists():
            scratch = path.with_name(f".tmp-{uuid.uuid4().hex}")
            with scratch.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            scratch.replace(path)
        return ref

    def _payload(self, row: sqlite3.Row) -> Any:
        if row["payload_ref"] is not None:
            return json.loads((self._store / "blobs" / row["payload_ref"]).read_bytes())
        return None if row["payload"] is None else json.loads(row["payload"])

    def _delivered(self, row: sqlite3.Row) -> dict[str, Any]:
        message: dict[str, Any] = {key: row[key] for key in row.keys() if key != "payload"}  # noqa: SIM118
        ref = row["payload_ref"]
        if ref is not None and not re.fullmatch("sha256-[0-9a-f]{64}", ref):
            return {**message, "payload_error": "blob_invalid"}
        try:
            if ref is not None:
                data = (self._store / "blobs" / ref).read_bytes()
                if f"sha256-{hashlib.sha256(data).hexdigest()}" != ref:
                    return {**message, "payload_error": "blob_corrupt"}
            return {**message, "payload": self._payload(row)}
        except FileNotFoundError:
            return {**message, "payload_error": "blob_missing"}
        except ValueError:
            return {**message, "payload_error": "decode_failed"}

    def _poll(self, agent_id: str, limit: int = 100, wait_ms: int = 0) -> dict[str, Any]:
        rows = self._conn.execute(
            "SELECT * FROM messages"
            " WHERE seq > coalesce((SELECT last_acked_seq FROM cursors WHERE agent_id = :agent), 0)"
            " AND (to_agent IS NULL OR to_agent = :agent) ORDER BY seq LIMIT :limit",
            {"agent": agent_id, "limit": limit},
        )
        return {"messages": [self._delivered(row) for row in rows.fetchall()]}

    def _ack(self, agent_id: str, seq: int) -> dict[str, Any]:
        db = self._conn
        # The newest message. Archived messages were acknowledged, so a cursor knows of them.
        newest = db.execute(
            "SELECT max(coalesce((SELECT max(seq) FROM messages), 0),"
            " coalesce((SELECT max(last_acked_seq) FROM cursors), 0))"
        ).fetchone()[0]
        if not 0 <= seq <= newest:
            raise Refused("INVALID_ARGUMENT", f"the newest seq is {newest}", definite=True)
        row = db.execute(
            "INSERT INTO cursors (agent_id, last_acked_seq, updated_at_ms) VALUES (?, ?, ?)"
            " ON CONFLICT (agent_id) DO UPDATE SET last_acked_seq = MAX(last_acked_seq, excluded.last_acked_seq),"
            " updated_at_ms = excluded.updated_at_ms RETURNING last_acked_seq",
            (agent_id, seq, self._time()),
        ).fetchall()[0]
        return {"last_acked_seq": row[0]}

    def _try_claim_task(self, task_id: str, agent_id: str) -> dict[str, Any]:
        db = self._conn
        db.execute("BEGIN IMMEDIATE")
        now_ms = self._time()  # a lease begins when it is granted, not when it was asked for
        held = db.execute("SELECT lease_until_ms FROM task_claims WHERE task_id = ?", (task_id,)).fetchone()
        if held is not None and held[0] > now_ms:
            db.execute("ROLLBACK")
            return {"claimed": False}
        values = (task_id, agent_id, now_ms, now_ms + LEASE_MS)
        db.execute("INSERT OR REPLACE INTO task_claims VALUES (?, ?, ?, ?)", values)
        db.execute("COMMIT")
        return {"claimed": True, "lease_until_ms": now_ms + LEASE_MS}

    def _renew_claim(self, task_id: str, agent_id: str, token: int | None = None) -> dict[str, Any]:
        until_ms = self._time() + LEASE_MS
        renewed = self._conn.execute(
            "UPDATE task_claims SET lease_until_ms = ? WHERE task_id = ? AND claimed_by = ?",
            (until_ms, task_id, agent_id),
        ).rowcount
        return {"renewed": True, "lease_until_ms": until_ms} if renewed else {"renewed": False}

    def _release_claim(self, task_id: str, agent_id: str, token: int | None = None) -> dict[str, Any]:
        released = self._conn.execute(
            "DELETE FROM task_claims WHERE task_id = ? AND claimed_by = ?", (task_id, agent_id)
        ).rowcount
        return {"released": released > 0}

    def _heartbeat(
        self, agent_id: str, status: str, current_task: str | None = None, progress: float | None = None
    ) -> dict[str, Any]:
        if status not in ("idle", "working", "blocked"):
            raise Refused("INVALID_ARGUMENT", f"no status: {status!r}", definite=True)
        self._conn.execute(
            "INSERT INTO heartbeats (agent_id, ts_ms, status, current_task, progress) VALUES (?, ?, ?, ?, ?)"
            " ON CONFLICT (agent_id) DO UPDATE SET ts_ms = excluded.ts_ms, status = excluded.status,"
            " current_task = excluded.current_task, progress = excluded.progress",
            (agent_id, self._time(), status, current_task, progress),
        )
        return {}

    def _liveness(self) -> dict[str, Any]:
        agents = []
        for row in self._conn.execute("SELECT * FROM heartbeats ORDER BY agent_id").fetchall():
            age_ms = self._time() - row["ts_ms"]
            bounds = ((300_000, "DEAD"), (100_000, "STALE"), (30_000, "WARN"))
            state = next((name for at_least_ms, name in bounds if age_ms >= at_least_ms), "ALIVE")
            agents.append({**dict(row), "age_ms": age_ms, "state": state})
        return {"agents": agents}

    def _dump(self) -> dict[str, Any]:
        db = self._conn

        def rows(query: str) -> list[dict[str, Any]]:
            return [dict(row) for row in db.execute(query)]

        # Tables that other participants may have added are left to them, except those that hold messages.
        extra = {row["name"] for row in rows("SELECT name FROM sqlite_master WHERE type = 'table'")}
        return {
            "messages": rows("SELECT * FROM messages ORDER BY seq"),
            "cursors": rows("SELECT * FROM cursors"),
            "task_claims": rows("SELECT * FROM task_claims"),
            "heartbeats": rows("SELECT * FROM heartbeats"),
            "archived": rows("SELECT * FROM archived_messages") if "archived_messages" in extra else [],
            "export_last_seq": db.execute("SELECT last_seq FROM export_state").fetchone()[0],
            "integrity": db.execute("PRAGMA integrity_check").fetchone()[0],
        }
