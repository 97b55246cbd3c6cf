"""A `comms` bus that takes seed 001 at its word, with every fault that this leads to.

It does what the seed lists as the steps of each function, and behaves as its example code does; README.md tells its
faults one by one. Nothing is mended: that is the point.
"""

import json
import os
import sqlite3
import time
import uuid
from contextlib import contextmanager
from datetime import datetime, timezone

TABLES = """
CREATE TABLE IF NOT EXISTS messages (
    id TEXT PRIMARY KEY, type TEXT NOT NULL, version TEXT NOT NULL, timestamp TEXT NOT NULL, correlation_id TEXT,
    from_agent TEXT NOT NULL, to_agent TEXT, channel TEXT NOT NULL, priority INTEGER NOT NULL DEFAULT 5,
    payload TEXT NOT NULL, status TEXT NOT NULL DEFAULT 'pending', created_at TEXT NOT NULL, expires_at TEXT,
    delivery_count INTEGER DEFAULT 0, last_delivered_at TEXT, error TEXT
);
CREATE INDEX IF NOT EXISTS idx_ready_messages ON messages(channel, status, priority DESC, timestamp)
    WHERE status = 'pending';
CREATE INDEX IF NOT EXISTS idx_correlation ON messages(correlation_id) WHERE correlation_id IS NOT NULL;
CREATE INDEX IF NOT EXISTS idx_expiration ON messages(expires_at) WHERE expires_at IS NOT NULL;
CREATE TABLE IF NOT EXISTS channel_subscriptions (
    channel_name TEXT NOT NULL, agent_id TEXT NOT NULL, subscribed_at TEXT NOT NULL,
    PRIMARY KEY (channel_name, agent_id)
);
CREATE INDEX IF NOT EXISTS idx_agent_channels ON channel_subscriptions(agent_id);
CREATE TABLE IF NOT EXISTS agent_status (
    agent_id TEXT PRIMARY KEY, status TEXT NOT NULL, current_task TEXT, last_heartbeat TEXT NOT NULL,
    messages_pending INTEGER DEFAULT 0, messages_processed INTEGER DEFAULT 0, error_count INTEGER DEFAULT 0
);
CREATE TABLE IF NOT EXISTS dead_letter_queue (
    id TEXT PRIMARY KEY, original_message TEXT NOT NULL, error TEXT NOT NULL, moved_at TEXT NOT NULL,
    retry_count INTEGER NOT NULL
);
"""
ENVELOPE = "id type version timestamp correlation_id from_agent to_agent channel priority payload".split()
REQUIRED = [field for field in ENVELOPE if field not in ("correlation_id", "to_agent")]


class Bus:
    """One connection to a project's store. `now_s` is asked for the time."""

    def __init__(self, root, now_s):
        self.root, self.now_s = root, now_s
        folder = os.path.join(root, ".claude", "communications")
        os.makedirs(folder, exist_ok=True)
        os.makedirs(os.path.join(root, ".claude", "artifacts"), exist_ok=True)
        scratch = os.path.join(folder, f"{uuid.uuid4()}.tmp")
        with open(scratch, "w") as file:
            file.write("1.0")
        os.replace(
            scratch, os.path.join(folder, "protocol_version.txt")
        )  # whoever opens meanwhile reads one or the other
        self.db = sqlite3.connect(os.path.join(folder, "messages.db"), isolation_level=None)
        self.db.row_factory = sqlite3.Row
        for pragma in ("journal_mode=WAL", "synchronous=NORMAL", "busy_timeout=5000", "cache_size=-64000"):
            while not self.takes(pragma):
                time.sleep(0.005)
        self.db.executescript(TABLES)

    def takes(self, pragma):
        """SQLite does not wait for a lock where it changes to WAL, whatever its time-out is."""
        try:
            self.db.execute(f"PRAGMA {pragma}")
        except sqlite3.OperationalError:
            return False
        return True

    def time_text(self, plus_s=0):
        return datetime.fromtimestamp(self.now_s() + plus_s, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")

    @contextmanager
    def locked(self):
        self.db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self.db.rollback()
            raise
        self.db.commit()

    def send(
        self, from_agent, to_agent, type_, payload, channel="general", priority=5, correlation_id=None, ttl_s=None
    ):
        message_id, now = str(uuid.uuid4()), self.time_text()
        values = [message_id, type_, "1.0", now, correlation_id, from_agent, to_agent, channel, priority]
        values += [json.dumps(payload), "pending", now, self.time_text(ttl_s) if ttl_s else None]
        with self.locked():  # nothing is validated
            self.db.execute(f"INSERT INTO messages VALUES ({', '.join('?' * 13)}, 0, NULL, NULL)", values)
            self.db.execute(
                "UPDATE agent_status SET messages_pending = messages_pending + 1 WHERE agent_id = ?", (to_agent,)
            )
        return message_id

    def receive(self, agent_id, channels, limit, wait_s):
        until, query = (
            time.monotonic() + wait_s,
            f"""
            SELECT {", ".join(ENVELOPE)} FROM messages
            WHERE channel IN (SELECT value FROM json_each(:channels)) AND ifnull(to_agent, :agent) = :agent AND status = 'pending'
            ORDER BY priority DESC, timestamp LIMIT :limit""",
        )  # C4: also what has expired
        asked = {"channels": json.dumps(channels), "agent": agent_id, "limit": limit}
        while True:
            rows = self.db.execute(query, asked).fetchall()
            if rows or time.monotonic() >= until:
                return [{**dict(row), "payload": json.loads(row["payload"])} for row in rows]
            time.sleep(0.1)

    def claim(self, message_id):
        with self.locked():  # C1 to C4: no count, no end, one status for all readers, no look at who asks
            return (
                self.db.execute(
                    "UPDATE messages SET status = 'processing', last_delivered_at = ?"
                    " WHERE id = ? AND status = 'pending'",
                    (self.time_text(), message_id),
                ).rowcount
                == 1
            )

    def complete(self, message_id, error):
        status = "failed" if error else "done"
        self.db.execute("UPDATE messages SET status = ?, error = ? WHERE id = ?", (status, error, message_id))
        row = self.db.execute("SELECT * FROM messages WHERE id = ?", (message_id,)).fetchone()
        if error and row["delivery_count"] >= 3:  # C1: it never is
            whole = json.dumps({field: row[field] for field in ENVELOPE})
            letter = (message_id, whole, error, self.time_text(), row["delivery_count"])
            self.db.execute("INSERT INTO dead_letter_queue VALUES (?, ?, ?, ?, ?)", letter)
            self.db.execute("DELETE FROM messages WHERE id = ?", (message_id,))

    def respond(self, request, payload, artifact_path):
        if artifact_path:
            payload = {**payload, "artifact_path": artifact_path}
        type_ = request["type"].replace(".query", ".response")
        from_agent, to_agent = request["to_agent"], request["from_agent"]  # C5: a broadcast has no addressee
        link = request.get("correlation_id")
        return self.send(from_agent, to_agent, type_, payload, request["channel"], correlation_id=link)

    def subscribe(self, agent_id, channel):
        row = (channel, agent_id, self.time_text())
        self.db.execute("INSERT OR IGNORE INTO channel_subscriptions VALUES (?, ?, ?)", row)

    def unsubscribe(self, agent_id, channel):
        where = "channel_name = ? AND agent_id = ?"
        self.db.execute(f"DELETE FROM channel_subscriptions WHERE {where}", (channel, agent_id))

    def channels(self, agent_id):
        rows = self.db.execute("SELECT channel_name FROM channel_subscriptions WHERE agent_id = ?", (agent_id,))
        return [name for (name,) in rows]

    def heartbeat(self, agent_id, status, current_task):
        self.db.execute(
            "INSERT INTO agent_status (agent_id, status, current_task, last_heartbeat) VALUES (?, ?, ?, ?)"
            " ON CONFLICT (agent_id) DO UPDATE SET status = excluded.status, current_task = excluded.current_task,"
            " last_heartbeat = excluded.last_heartbeat",
            (agent_id, status, current_task, self.time_text()),
        )

    def health(self, agent_id):
        return dict(self.db.execute("SELECT * FROM agent_status WHERE agent_id = ?", (agent_id,)).fetchone())

    def cleanup(self):
        return self.db.execute("DELETE FROM messages WHERE expires_at <= ?", (self.time_text(),)).rowcount

    def write_artifact(self, agent_id, task_id, content, name):
        path = f".claude/artifacts/{agent_id}/{task_id}/{name}"  # C9: whatever the names are
        target = os.path.join(self.root, path)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target + ".tmp", "w") as file:  # the same name for every writer
            json.dump(content, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(target + ".tmp", target)
        return path


class Bucket:
    """100 tokens, 10 more a second."""

    def __init__(self, now_s):
        self.now_s, self.tokens, self.at_s = now_s, 100.0, now_s()

    def take(self):
        now_s = self.now_s()
        self.tokens, self.at_s = min(100.0, self.tokens + 10 * (now_s - self.at_s)), now_s
        if self.tokens < 1:
            return False
        self.tokens -= 1
        return True


class Breaker:
    """Opens after 5 failures and lets calls through after more than 60 s."""

    def __init__(self):
        self.state, self.failures, self.failed_at_s = "closed", 0, 0.0

    def admits(self, now_s):
        if self.state == "open" and now_s - self.failed_at_s > 60:
            self.state = "half_open"  # C8: for any number of calls
        return self.state != "open"

    def succeeded(self):
        if self.state == "half_open":  # C8: a success in between is forgotten
            self.state, self.failures = "closed", 0

    def failed(self, now_s):
        self.failures, self.failed_at_s = self.failures + 1, now_s
        if self.failures >= 5:
            self.state = "open"


def faults(message):
    """All that is wrong with an envelope."""
    wrong = [f"{field} is missing" for field in REQUIRED if field not in message]
    if not isinstance(message.get("priority", 1), int):
        wrong.append("priority is no whole number")
    if not 1 <= message.get("priority", 1) <= 10:  # raises for a text
        wrong.append("priority is not between 1 and 10")
    if not isinstance(message.get("payload", {}), dict):
        wrong.append("payload is no object")
    if message.get("version") != "1.0":
        wrong.append(f"version {message.get('version')} is not known")
    return wrong
