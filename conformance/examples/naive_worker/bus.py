"""A `worker` bus that takes seed 000 at its word, with every fault that this leads to.

It behaves as the seed's own example code does; README.md tells its faults one by one. Nothing is mended: that is the
point.
"""

import hashlib
import json
import os
import sqlite3
import tempfile
import uuid
from contextlib import closing, contextmanager

TABLES = """
CREATE TABLE IF NOT EXISTS messages (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, ts_ms INTEGER NOT NULL, from_agent TEXT NOT NULL,
    to_agent TEXT, type TEXT NOT NULL, correlation_id TEXT, in_reply_to TEXT, payload TEXT, payload_ref TEXT,
    CHECK (payload IS NULL OR payload_ref IS NULL)
);
CREATE INDEX IF NOT EXISTS idx_messages_to_seq ON messages(to_agent, seq);
CREATE INDEX IF NOT EXISTS idx_messages_correlation_seq ON messages(correlation_id, seq);
CREATE INDEX IF NOT EXISTS idx_messages_type_from_ts ON messages(type, from_agent, ts_ms);
CREATE TABLE IF NOT EXISTS cursors (
    agent_id TEXT PRIMARY KEY, last_acked_seq INTEGER NOT NULL DEFAULT 0, updated_at_ms INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS heartbeats (
    agent_id TEXT PRIMARY KEY, ts_ms INTEGER NOT NULL, status TEXT NOT NULL, current_task TEXT, progress REAL
);
CREATE TABLE IF NOT EXISTS task_claims (
    task_id TEXT PRIMARY KEY, claimed_by TEXT NOT NULL, claimed_at_ms INTEGER NOT NULL, lease_until_ms INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
INSERT OR IGNORE INTO meta VALUES ('schema_version', '1');
CREATE TABLE IF NOT EXISTS export_state (id INTEGER PRIMARY KEY CHECK (id = 1), last_seq INTEGER NOT NULL DEFAULT 0);
INSERT OR IGNORE INTO export_state VALUES (1, 0);
"""
LEASE_MS = 60_000
INLINE_BYTES_MAX = 4096


class Bus:
    """One store. `now_ms` is asked for the time; each call has a connection of its own."""

    def __init__(self, store, now_ms):
        self.store, self.now_ms = store, now_ms
        with closing(self.connect()) as db:
            if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'messages'").fetchone():
                db.executescript(f"BEGIN IMMEDIATE; {TABLES} COMMIT;")  # another may make them, too

    def connect(self):
        db = sqlite3.connect(os.path.join(self.store, "bus.db"))
        db.row_factory = sqlite3.Row
        for pragma in ("busy_timeout = 5000", "foreign_keys = ON", "journal_mode = WAL", "synchronous = NORMAL"):
            db.execute(f"PRAGMA {pragma}")
        return db

    @contextmanager
    def writing(self):
        with closing(self.connect()) as db, db:
            yield db

    def rows(self, query, values=()):
        with closing(self.connect()) as db:
            return [dict(row) for row in db.execute(query, values)]

    def publish(self, agent_id, message):
        message_id = message.get("id") or str(uuid.uuid4())
        text = ref = None
        if payload := message.get("payload"):  # W2: what is falsy is lost, and an empty list or object is no text
            text = json.dumps(payload)
            if len(text) > INLINE_BYTES_MAX:
                text, ref = None, self.save_blob(payload)
        else:
            text = payload
        optional = [message.get(field) for field in ("correlation_id", "in_reply_to")]
        row = (message_id, self.now_ms(), agent_id, message.get("to"), message["type"], *optional, text, ref)
        columns = "id, ts_ms, from_agent, to_agent, type, correlation_id, in_reply_to, payload, payload_ref"
        try:
            with self.writing() as db:
                db.execute(f"INSERT INTO messages ({columns}) VALUES ({', '.join('?' * len(row))})", row)
        except sqlite3.IntegrityError:
            pass  # W1: whatever constraint it was, "it was published before"
        return message_id

    def poll(self, agent_id, limit):
        at = self.rows("SELECT last_acked_seq AS at FROM cursors WHERE agent_id = ?", (agent_id,))
        messages = self.rows(
            "SELECT * FROM messages WHERE seq > ? AND (to_agent IS NULL OR to_agent = ?) ORDER BY seq LIMIT ?",
            (at[0]["at"] if at else 0, agent_id, limit),
        )
        return [self.resolved(message) for message in messages]

    def resolved(self, message):
        try:
            if message["payload_ref"]:
                message["payload"] = self.load_blob(message["payload_ref"])  # W6: any path, any content
            elif message["payload"]:
                message["payload"] = json.loads(message["payload"])
        except FileNotFoundError:
            message["payload_error"] = "blob_missing"
        except json.JSONDecodeError:
            if message["payload_ref"]:
                raise
            message["payload_error"] = "decode_failed"
        return message

    def ack(self, agent_id, seq):
        with self.writing() as db:  # W5: any seq is believed
            db.execute(
                "INSERT INTO cursors VALUES (?, ?, ?) ON CONFLICT (agent_id) DO UPDATE"
                " SET last_acked_seq = max(last_acked_seq, excluded.last_acked_seq), updated_at_ms = excluded.updated_at_ms",
                (agent_id, seq, self.now_ms()),
            )

    def heartbeat(self, agent_id, status, current_task, progress):
        with self.writing() as db:
            row = (agent_id, self.now_ms(), status, current_task, progress)
            db.execute("INSERT OR REPLACE INTO heartbeats VALUES (?, ?, ?, ?, ?)", row)

    def liveness(self):
        for row in self.rows("SELECT * FROM heartbeats"):
            age_ms = self.now_ms() - row["ts_ms"]
            passed = [
                name for at_ms, name in ((30_000, "WARN"), (100_000, "STALE"), (300_000, "DEAD")) if age_ms >= at_ms
            ]
            yield {**row, "age_ms": age_ms, "state": passed[-1] if passed else "ALIVE"}

    def try_claim(self, task_id, agent_id):
        now_ms = self.now_ms()
        try:
            with self.writing() as db:
                db.execute("BEGIN IMMEDIATE")
                held = db.execute("SELECT lease_until_ms FROM task_claims WHERE task_id = ?", (task_id,)).fetchone()
                if held and held[0] > now_ms:
                    return False
                values = (task_id, agent_id, now_ms, now_ms + LEASE_MS)
                db.execute("INSERT OR REPLACE INTO task_claims VALUES (?, ?, ?, ?)", values)
                return True
        except sqlite3.OperationalError:
            return False  # W8: whatever went wrong, "somebody else has it"

    def renew(self, task_id, agent_id):
        statement = "UPDATE task_claims SET lease_until_ms = ? WHERE task_id = ? AND claimed_by = ?"
        with self.writing() as db:
            return db.execute(statement, (self.now_ms() + LEASE_MS, task_id, agent_id)).rowcount > 0

    def release(self, task_id, agent_id):
        with self.writing() as db:
            db.execute("DELETE FROM task_claims WHERE task_id = ? AND claimed_by = ?", (task_id, agent_id))

    def export(self):
        new = self.rows("SELECT * FROM messages WHERE seq > (SELECT last_seq FROM export_state) ORDER BY seq")
        if new:
            with open(os.path.join(self.store, "bus.jsonl"), "a") as file:
                file.writelines(json.dumps(row) + "\n" for row in new)
            with self.writing() as db:  # W7: a crash right before this line exports the same rows again
                db.execute("UPDATE export_state SET last_seq = ?", (new[-1]["seq"],))

    def save_blob(self, content):
        data = json.dumps(content).encode()
        ref = "sha256-" + hashlib.sha256(data).hexdigest()
        folder = os.path.join(self.store, "blobs")
        os.makedirs(folder, exist_ok=True)
        if not os.path.exists(os.path.join(folder, ref)):
            with tempfile.NamedTemporaryFile(dir=folder, delete=False) as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(file.name, os.path.join(folder, ref))
        return ref

    def load_blob(self, ref):
        with open(os.path.join(self.store, "blobs", ref), "rb") as file:
            return json.load(file)
