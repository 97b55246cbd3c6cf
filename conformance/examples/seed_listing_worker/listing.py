"""The Python listing of seed 000 ("Message Passing Layer Design"), typed in with its faults.

Changed only where the document leaves no choice: the store's folder is an argument where the document writes
`.worker-state`, `get_connection` is what its "Connection Setup" describes, and the heartbeat and the liveness query,
which it gives in Nim and SQL, are put into Python. Nothing is mended: that is the point.
"""

import hashlib
import json
import os
import sqlite3
import tempfile
import time
import uuid

SCHEMA = """
CREATE TABLE messages (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, ts_ms INTEGER NOT NULL, from_agent TEXT NOT NULL,
    to_agent TEXT, type TEXT NOT NULL, correlation_id TEXT, in_reply_to TEXT, payload TEXT, payload_ref TEXT,
    CHECK (payload IS NULL OR payload_ref IS NULL)
);
CREATE INDEX idx_messages_to_seq ON messages(to_agent, seq);
CREATE INDEX idx_messages_correlation_seq ON messages(correlation_id, seq);
CREATE INDEX idx_messages_type_from_ts ON messages(type, from_agent, ts_ms);
CREATE TABLE cursors (
    agent_id TEXT PRIMARY KEY, last_acked_seq INTEGER NOT NULL DEFAULT 0, updated_at_ms INTEGER NOT NULL
);
CREATE TABLE heartbeats (
    agent_id TEXT PRIMARY KEY, ts_ms INTEGER NOT NULL, status TEXT NOT NULL, current_task TEXT, progress REAL
);
CREATE TABLE task_claims (
    task_id TEXT PRIMARY KEY, claimed_by TEXT NOT NULL, claimed_at_ms INTEGER NOT NULL, lease_until_ms INTEGER NOT NULL
);
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
INSERT INTO meta (key, value) VALUES ('schema_version', '1');
CREATE TABLE export_state (id INTEGER PRIMARY KEY CHECK (id = 1), last_seq INTEGER NOT NULL DEFAULT 0);
INSERT INTO export_state (id, last_seq) VALUES (1, 0);
"""

LEASE_DURATION_MS = 60000


def get_connection(store):
    conn = sqlite3.connect(f"{store}/bus.db", timeout=5)
    conn.row_factory = sqlite3.Row
    conn.execute("PRAGMA busy_timeout = 5000")
    conn.execute("PRAGMA foreign_keys = ON")
    conn.execute("PRAGMA journal_mode = WAL")
    conn.execute("PRAGMA synchronous = NORMAL")
    return conn


def create(store):
    conn = get_connection(store)
    try:
        if not conn.execute("SELECT 1 FROM sqlite_master WHERE name = 'messages'").fetchone():
            conn.executescript(SCHEMA)
    finally:
        conn.close()


def publish(store, agent_id, message):
    msg_id = message.get("id") or str(uuid.uuid4())
    ts_ms = int(time.time() * 1000)
    payload = message.get("payload")
    payload_ref = None
    if payload:
        payload_json = json.dumps(payload)
        if len(payload_json) > 4096:
            payload_ref = save_blob(store, payload)
            payload = None
        else:
            payload = payload_json
    conn = get_connection(store)
    try:
        conn.execute(
            """
            INSERT INTO messages (id, ts_ms, from_agent, to_agent, type,
                                  correlation_id, in_reply_to, payload, payload_ref)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            (
                msg_id,
                ts_ms,
                agent_id,
                message.get("to"),
                message["type"],
                message.get("correlation_id"),
                message.get("in_reply_to"),
                payload,
                payload_ref,
            ),
        )
        conn.commit()
    except sqlite3.IntegrityError:
        conn.rollback()
    except Exception:
        conn.rollback()
        raise
    finally:
        conn.close()
    return msg_id


def poll(store, agent_id, limit=100):
    conn = get_connection(store)
    cursor = conn.execute("SELECT last_acked_seq FROM cursors WHERE agent_id = ?", (agent_id,)).fetchone()
    last_seq = cursor["last_acked_seq"] if cursor else 0
    rows = conn.execute(
        """
        SELECT * FROM messages
        WHERE seq > ?
          AND (to_agent IS NULL OR to_agent = ?)
        ORDER BY seq
        LIMIT ?
        """,
        (last_seq, agent_id, limit),
    ).fetchall()
    conn.close()
    messages = []
    for row in rows:
        msg = dict(row)
        if msg["payload_ref"]:
            try:
                msg["payload"] = load_blob(store, msg["payload_ref"])
            except FileNotFoundError:
                msg["payload_error"] = "blob_missing"
        elif msg["payload"]:
            try:
                msg["payload"] = json.loads(msg["payload"])
            except json.JSONDecodeError:
                msg["payload_error"] = "decode_failed"
        messages.append(msg)
    return messages


def ack(store, agent_id, seq):
    conn = get_connection(store)
    ts_ms = int(time.time() * 1000)
    conn.execute(
        """
        INSERT INTO cursors (agent_id, last_acked_seq, updated_at_ms)
        VALUES (?, ?, ?)
        ON CONFLICT(agent_id) DO UPDATE SET
            last_acked_seq = MAX(cursors.last_acked_seq, excluded.last_acked_seq),
            updated_at_ms = excluded.updated_at_ms
        """,
        (agent_id, seq, ts_ms),
    )
    conn.commit()
    conn.close()


def heartbeat(store, agent_id, status, current_task, progress):
    conn = get_connection(store)
    conn.execute(
        """
        INSERT INTO heartbeats (agent_id, ts_ms, status, current_task, progress)
        VALUES (?, ?, ?, ?, ?)
        ON CONFLICT(agent_id) DO UPDATE SET
          ts_ms = excluded.ts_ms, status = excluded.status,
          current_task = excluded.current_task, progress = excluded.progress
        """,
        (agent_id, int(time.time() * 1000), status, current_task, progress),
    )
    conn.commit()
    conn.close()


def liveness(store):
    conn = get_connection(store)
    rows = conn.execute("SELECT * FROM heartbeats").fetchall()
    conn.close()
    now_ms = int(time.time() * 1000)
    for row in rows:
        age_ms = now_ms - row["ts_ms"]
        state = "ALIVE" if age_ms < 30_000 else "WARN" if age_ms < 100_000 else "STALE" if age_ms < 300_000 else "DEAD"
        yield {**dict(row), "age_ms": age_ms, "state": state}


def try_claim_task(store, task_id, agent_id):
    conn = get_connection(store)
    ts_ms = int(time.time() * 1000)
    lease_until = ts_ms + LEASE_DURATION_MS
    try:
        conn.execute("BEGIN IMMEDIATE")
        existing = conn.execute(
            "SELECT claimed_by, lease_until_ms FROM task_claims WHERE task_id = ?", (task_id,)
        ).fetchone()
        if existing:
            if existing["lease_until_ms"] > ts_ms:
                conn.rollback()
                return False
            else:
                conn.execute("DELETE FROM task_claims WHERE task_id = ?", (task_id,))
        conn.execute(
            """
            INSERT INTO task_claims (task_id, claimed_by, claimed_at_ms, lease_until_ms)
            VALUES (?, ?, ?, ?)
            """,
            (task_id, agent_id, ts_ms, lease_until),
        )
        conn.commit()
        return True
    except sqlite3.OperationalError:
        conn.rollback()
        return False
    finally:
        conn.close()


def renew_claim(store, task_id, agent_id):
    conn = get_connection(store)
    ts_ms = int(time.time() * 1000)
    lease_until = ts_ms + LEASE_DURATION_MS
    result = conn.execute(
        "UPDATE task_claims SET lease_until_ms = ? WHERE task_id = ? AND claimed_by = ?",
        (lease_until, task_id, agent_id),
    )
    conn.commit()
    updated = result.rowcount > 0
    conn.close()
    return updated


def release_claim(store, task_id, agent_id):
    conn = get_connection(store)
    conn.execute("DELETE FROM task_claims WHERE task_id = ? AND claimed_by = ?", (task_id, agent_id))
    conn.commit()
    conn.close()


def export_to_jsonl(store):
    jsonl_path = f"{store}/bus.jsonl"
    conn = get_connection(store)
    row = conn.execute("SELECT last_seq FROM export_state WHERE id = 1").fetchone()
    last_exported = row["last_seq"] if row else 0
    rows = conn.execute("SELECT * FROM messages WHERE seq > ? ORDER BY seq", (last_exported,)).fetchall()
    if not rows:
        conn.close()
        return
    max_seq = last_exported
    with open(jsonl_path, "a") as f:
        for row in rows:
            msg = dict(row)
            f.write(json.dumps(msg) + "\n")
            max_seq = max(max_seq, msg["seq"])
    conn.execute("UPDATE export_state SET last_seq = ? WHERE id = 1", (max_seq,))
    conn.commit()
    conn.close()


def save_blob(store, content):
    data = json.dumps(content).encode()
    hash_hex = hashlib.sha256(data).hexdigest()
    ref = f"sha256-{hash_hex}"
    path = f"{store}/blobs/{ref}"
    if os.path.exists(path):
        return ref
    os.makedirs(os.path.dirname(path), exist_ok=True)
    fd, tmp_path = tempfile.mkstemp(dir=os.path.dirname(path))
    try:
        with os.fdopen(fd, "wb") as f:
            f.write(data)
            f.flush()
            os.fsync(f.fileno())
        os.replace(tmp_path, path)
    except:
        if os.path.exists(tmp_path):
            os.unlink(tmp_path)
        raise
    return ref


def load_blob(store, ref):
    path = f"{store}/blobs/{ref}"
    with open(path, "rb") as f:
        return json.load(f)
