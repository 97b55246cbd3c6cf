"""The Python of seed 001 ("Multi-Agent Communication Protocol Specification"), typed in with its faults.

Where the document gives a listing (bucket, breaker, retry, dead letters, artifact, validation) it stands here as it
is; where it gives a signature and the steps under "Implementation", the steps are what the function does, no more.
`SELECT … FOR UPDATE` is no SQLite and had to go (C6); the project's root is an argument of the connection. Nothing
else is mended: that is the point.
"""

import json
import os
import random
import sqlite3
import threading
import time
import uuid
from datetime import datetime, timezone

SCHEMA = """
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
ENVELOPE = (
    "id",
    "type",
    "version",
    "timestamp",
    "correlation_id",
    "from_agent",
    "to_agent",
    "channel",
    "priority",
    "payload",
)


def now(plus_seconds=0):
    at = datetime.fromtimestamp(time.time() + plus_seconds, timezone.utc)
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


def initialize_communication_system(project_root):
    os.makedirs(os.path.join(project_root, ".claude/communications"), exist_ok=True)
    os.makedirs(os.path.join(project_root, ".claude/artifacts"), exist_ok=True)
    with open(os.path.join(project_root, ".claude/communications/protocol_version.txt"), "w") as f:
        f.write("1.0")
    conn = connect(project_root)
    conn.executescript(SCHEMA)
    return conn


def connect(project_root):
    path = os.path.join(project_root, ".claude/communications/messages.db")
    conn = sqlite3.connect(path, isolation_level=None)
    conn.row_factory = sqlite3.Row
    conn.execute("PRAGMA journal_mode=WAL")
    conn.execute("PRAGMA synchronous=NORMAL")
    conn.execute("PRAGMA busy_timeout=5000")
    conn.execute("PRAGMA cache_size=-64000")
    return conn


def send_message(
    conn,
    from_agent,
    to_agent,
    message_type,
    payload,
    channel="general",
    priority=5,
    correlation_id=None,
    ttl_seconds=None,
):
    message_id = str(uuid.uuid4())
    conn.execute("BEGIN IMMEDIATE")
    try:
        conn.execute(
            "INSERT INTO messages (id, type, version, timestamp, correlation_id, from_agent, to_agent, channel, priority,"
            " payload, created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                message_id,
                message_type,
                "1.0",
                now(),
                correlation_id,
                from_agent,
                to_agent,
                channel,
                priority,
                json.dumps(payload),
                now(),
                now(ttl_seconds) if ttl_seconds else None,
            ),
        )
        conn.execute("UPDATE agent_status SET messages_pending = messages_pending + 1 WHERE agent_id = ?", (to_agent,))
        conn.commit()
    except Exception:
        conn.rollback()
        raise
    return message_id


def receive_messages(conn, agent_id, channels, limit=10, timeout_seconds=None):
    deadline = time.monotonic() + (timeout_seconds or 0)
    marks = ", ".join("?" * len(channels))
    while True:
        rows = conn.execute(
            f"SELECT * FROM messages WHERE channel IN ({marks}) AND (to_agent = ? OR to_agent IS NULL)"
            " AND status = 'pending' ORDER BY priority DESC, timestamp ASC LIMIT ?",
            (*channels, agent_id, limit),
        ).fetchall()
        if rows or time.monotonic() >= deadline:
            return [{**{k: row[k] for k in ENVELOPE}, "payload": json.loads(row["payload"])} for row in rows]
        time.sleep(0.1)


def claim_message(conn, agent_id, message_id):
    conn.execute("BEGIN IMMEDIATE")
    try:
        row = conn.execute("SELECT status FROM messages WHERE id = ?", (message_id,)).fetchone()
        if row is None or row["status"] != "pending":
            conn.rollback()
            return False
        conn.execute(
            "UPDATE messages SET status = 'processing', last_delivered_at = ? WHERE id = ?", (now(), message_id)
        )
        conn.commit()
    except sqlite3.OperationalError:
        conn.rollback()
        raise
    return True


def complete_message(conn, message_id, error=None):
    conn.execute(
        "UPDATE messages SET status = ?, error = ? WHERE id = ?", ("failed" if error else "done", error, message_id)
    )
    row = conn.execute("SELECT * FROM messages WHERE id = ?", (message_id,)).fetchone()
    if error and row["delivery_count"] >= 3:
        original_message = {k: row[k] for k in ENVELOPE}
        conn.execute(
            """
            INSERT INTO dead_letter_queue (id, original_message, error, moved_at, retry_count)
            VALUES (?, ?, ?, ?, ?)
            """,
            (message_id, json.dumps(original_message), error, now(), row["delivery_count"]),
        )
        conn.execute("DELETE FROM messages WHERE id = ?", (message_id,))


def send_response(conn, original_message, response_payload, artifact_path=None):
    if artifact_path:
        response_payload = {**response_payload, "artifact_path": artifact_path}
    return send_message(
        conn,
        from_agent=original_message["to_agent"],
        to_agent=original_message["from_agent"],
        message_type=original_message["type"].replace(".query", ".response"),
        payload=response_payload,
        channel=original_message["channel"],
        correlation_id=original_message["correlation_id"],
    )


def subscribe_to_channel(conn, agent_id, channel_name):
    conn.execute("INSERT OR IGNORE INTO channel_subscriptions VALUES (?, ?, ?)", (channel_name, agent_id, now()))


def unsubscribe_from_channel(conn, agent_id, channel_name):
    conn.execute("DELETE FROM channel_subscriptions WHERE channel_name = ? AND agent_id = ?", (channel_name, agent_id))


def get_subscribed_channels(conn, agent_id):
    rows = conn.execute("SELECT channel_name FROM channel_subscriptions WHERE agent_id = ?", (agent_id,))
    return [row["channel_name"] for row in rows]


def send_heartbeat(conn, agent_id, status, current_task=None):
    conn.execute(
        "INSERT INTO agent_status (agent_id, status, current_task, last_heartbeat) VALUES (?, ?, ?, ?)"
        " ON CONFLICT (agent_id) DO UPDATE SET status = excluded.status, current_task = excluded.current_task,"
        " last_heartbeat = excluded.last_heartbeat",
        (agent_id, status, current_task, now()),
    )


def get_agent_health(conn, agent_id):
    return dict(conn.execute("SELECT * FROM agent_status WHERE agent_id = ?", (agent_id,)).fetchone())


def cleanup_expired_messages(conn):
    return conn.execute("DELETE FROM messages WHERE expires_at <= ?", (now(),)).rowcount


class TokenBucket:
    def __init__(self, capacity: int, refill_rate: float):
        self.capacity = capacity
        self.tokens = capacity
        self.refill_rate = refill_rate
        self.last_refill = time.time()
        self.lock = threading.Lock()

    def consume(self, tokens: int = 1) -> bool:
        """Try to consume tokens. Returns True if successful."""
        with self.lock:
            now = time.time()
            elapsed = now - self.last_refill
            self.tokens = min(self.capacity, self.tokens + elapsed * self.refill_rate)
            self.last_refill = now

            if self.tokens >= tokens:
                self.tokens -= tokens
                return True
            return False


class CircuitBreaker:
    def __init__(self, failure_threshold: int = 5, timeout: int = 60):
        self.failure_threshold = failure_threshold
        self.timeout = timeout
        self.failures = 0
        self.last_failure_time = None
        self.state = "closed"  # closed, open, half_open

    def call(self, func, *args, **kwargs):
        """Execute function through circuit breaker."""
        if self.state == "open":
            if time.time() - self.last_failure_time > self.timeout:
                self.state = "half_open"
            else:
                raise Exception("Circuit breaker is OPEN")

        try:
            result = func(*args, **kwargs)
            if self.state == "half_open":
                self.state = "closed"
                self.failures = 0
            return result
        except Exception:
            self.failures += 1
            self.last_failure_time = time.time()
            if self.failures >= self.failure_threshold:
                self.state = "open"
            raise


def send_with_retry(conn, max_attempts=3, base_delay=1.0, **message_args):
    """Send message with exponential backoff retry."""
    for attempt in range(max_attempts):
        try:
            return send_message(conn, **message_args)
        except Exception:
            if attempt == max_attempts - 1:
                raise

            # Exponential backoff with jitter
            delay = base_delay * (2**attempt)
            jitter = random.uniform(0.5, 1.5)
            time.sleep(delay * jitter)


def write_artifact(project_root, agent_id, task_id, large_data):
    artifact_path = f".claude/artifacts/{agent_id}/{task_id}/result.json"
    full_path = os.path.join(project_root, artifact_path)
    os.makedirs(os.path.dirname(full_path), exist_ok=True)

    # Atomic write
    temp_path = full_path + ".tmp"
    with open(temp_path, "w") as f:
        json.dump(large_data, f)
        f.flush()
        os.fsync(f.fileno())

    os.replace(temp_path, full_path)
    return artifact_path


def validate_message(msg):
    """Validate message against schema. Returns (is_valid, errors)."""
    errors = []

    # Required fields
    required = ["id", "type", "version", "timestamp", "from_agent", "channel", "priority", "payload"]
    for field in required:
        if field not in msg:
            errors.append(f"Missing required field: {field}")

    # Type validation
    if "priority" in msg and not isinstance(msg["priority"], int):
        errors.append("priority must be integer")

    if "priority" in msg and not (1 <= msg["priority"] <= 10):
        errors.append("priority must be 1-10")

    if "payload" in msg and not isinstance(msg["payload"], dict):
        errors.append("payload must be object")

    # Version check
    if msg.get("version") != "1.0":
        errors.append(f"Unsupported version: {msg.get('version')}")

    return (len(errors) == 0, errors)
