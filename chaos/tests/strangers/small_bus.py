"""A correct bus of a stranger, with nothing of the reference: log, cursor and lease, on a wall clock, no dump.

`small_bus.py sqlite` says that its file has the seed's tables, so the kit can read it; `small_bus.py plain` does not.
`small_bus.py elsewhere DIR` keeps its file in DIR, as a server would, under the name of the store's folder.
"""

import json
import sqlite3
import sys
import time
import uuid

TABLES = """
CREATE TABLE IF NOT EXISTS messages (seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE,
  ts_ms INTEGER NOT NULL, from_agent TEXT NOT NULL, to_agent TEXT, type TEXT NOT NULL, correlation_id TEXT,
  in_reply_to TEXT, payload TEXT, payload_ref TEXT);
CREATE TABLE IF NOT EXISTS cursors (agent_id TEXT PRIMARY KEY, last_acked_seq INTEGER NOT NULL, updated_at_ms INTEGER);
CREATE TABLE IF NOT EXISTS task_claims (task_id TEXT PRIMARY KEY, claimed_by TEXT, claimed_at_ms INTEGER,
  lease_until_ms INTEGER);
CREATE TABLE IF NOT EXISTS heartbeats (agent_id TEXT PRIMARY KEY, ts_ms INTEGER, status TEXT, current_task TEXT,
  progress REAL);
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS export_state (id INTEGER PRIMARY KEY, last_seq INTEGER NOT NULL DEFAULT 0);
INSERT OR IGNORE INTO meta VALUES ('schema_version', '1');
INSERT OR IGNORE INTO export_state VALUES (1, 0);
"""


def now_ms():
    return time.time_ns() // 1_000_000


class Bus:
    """One connection; every call one transaction."""

    def hello(self, protocol, system):
        return {
            "protocol": "1",
            "name": "small",
            "version": "1",
            "language": "python",
            "systems": ["worker"],
            "nouns": ["log", "cursor", "lease"],
            "features": ["sqlite"] if sys.argv[1:] == ["sqlite"] else [],
            "clock": "wall",
        }

    db = None

    def open(self, store, options):
        if self.db:
            self.db.close()  # SQLite would share its broken state with the new connection
        path = f"{store}/bus.db"
        if sys.argv[1] == "elsewhere":
            path = f"{sys.argv[2]}/{store.replace('/', '-')}.db"
        self.db = sqlite3.connect(path, timeout=20, isolation_level=None)
        self.db.row_factory = sqlite3.Row
        self.db.execute("PRAGMA journal_mode = WAL")
        self.db.executescript(f"BEGIN IMMEDIATE; {TABLES} COMMIT")
        return {}

    def close(self):
        if self.db:
            self.db.close()
        return {}

    def publish(self, agent_id, message):
        m = {"id": str(uuid.uuid4()), "to": None, "correlation_id": None, "in_reply_to": None, **message}
        payload = json.dumps(m["payload"]) if "payload" in m else None
        self.db.execute(
            "INSERT INTO messages (id, ts_ms, from_agent, to_agent, type, correlation_id, in_reply_to, payload) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING",
            (m["id"], now_ms(), agent_id, m["to"], m["type"], m["correlation_id"], m["in_reply_to"], payload),
        )
        (seq,) = self.db.execute("SELECT seq FROM messages WHERE id = ?", (m["id"],)).fetchone()
        return {"id": m["id"], "seq": seq}

    def poll(self, agent_id, limit=100, wait_ms=0):
        rows = self.db.execute(
            "SELECT * FROM messages WHERE seq > coalesce((SELECT last_acked_seq FROM cursors WHERE agent_id = ?), 0) "
            "AND (to_agent IS NULL OR to_agent = ?) ORDER BY seq LIMIT ?",
            (agent_id, agent_id, limit),
        )
        messages = []
        for row in map(dict, rows):
            text = row.pop("payload")
            messages.append(row if text is None else {**row, "payload": json.loads(text)})
        return {"messages": messages}

    def ack(self, agent_id, seq):
        self.db.execute(
            "INSERT INTO cursors VALUES (?, ?, ?) ON CONFLICT (agent_id) DO UPDATE "
            "SET last_acked_seq = max(last_acked_seq, excluded.last_acked_seq)",
            (agent_id, seq, now_ms()),
        )
        return {}

    def try_claim_task(self, task_id, agent_id):
        now = now_ms()
        took = self.db.execute(
            "INSERT INTO task_claims VALUES (?, ?, ?, ?) ON CONFLICT (task_id) DO UPDATE "
            "SET claimed_by = excluded.claimed_by, claimed_at_ms = excluded.claimed_at_ms, "
            "lease_until_ms = excluded.lease_until_ms WHERE lease_until_ms <= ?",
            (task_id, agent_id, now, now + 60_000, now),
        ).rowcount
        return {"claimed": took == 1, "lease_until_ms": now + 60_000} if took else {"claimed": False}

    def renew_claim(self, task_id, agent_id, token=None):
        until = now_ms() + 60_000
        changed = self.db.execute(
            "UPDATE task_claims SET lease_until_ms = ? WHERE task_id = ? AND claimed_by = ?", (until, task_id, agent_id)
        ).rowcount
        return {"renewed": True, "lease_until_ms": until} if changed else {"renewed": False}

    def release_claim(self, task_id, agent_id, token=None):
        held = "DELETE FROM task_claims WHERE task_id = ? AND claimed_by = ?"
        return {"released": self.db.execute(held, (task_id, agent_id)).rowcount == 1}


def main():
    bus = Bus()
    for line in sys.stdin:
        request = json.loads(line)
        answer = {"jsonrpc": "2.0", "id": request["id"]}
        try:
            answer["result"] = getattr(bus, request["method"])(**request["params"])
        except (sqlite3.Error, OSError) as error:
            full = getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_FULL
            code = "DISK_FULL" if full else "BUSY" if "locked" in str(error) else "IO_ERROR"
            definite = code != "IO_ERROR"
            answer["error"] = {"code": -32000, "message": str(error), "data": {"code": code, "definite": definite}}
        print(json.dumps(answer), flush=True)


main()
