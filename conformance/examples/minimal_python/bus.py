"""A small `worker` bus, correct in its core: log, cursor, route, lease and presence on one SQLite file."""

import json
import sqlite3
import uuid

LEASE_MS = 60_000
SCHEMA = """
CREATE TABLE IF NOT EXISTS messages (seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, row TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS cursors (agent TEXT PRIMARY KEY, seq INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS claims (task TEXT PRIMARY KEY, agent TEXT NOT NULL, until_ms INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS beats (agent TEXT PRIMARY KEY, ts_ms INTEGER NOT NULL, row TEXT NOT NULL);
"""


class Refused(ValueError):
    """The bus said no, and nothing happened."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


class Bus:
    """One session. Every method is one transaction."""

    def __init__(self, path):
        self.db = sqlite3.connect(path, timeout=10, isolation_level=None)
        self.db.execute("PRAGMA journal_mode = WAL")
        self.db.executescript(f"BEGIN IMMEDIATE; {SCHEMA} COMMIT;")

    def publish(self, now_ms, sender, message):
        if not isinstance(sender, str) or not isinstance(message.get("type"), str):
            raise Refused("INVALID_ARGUMENT", "a message has a sender and a type")
        fields = ("type", "correlation_id", "in_reply_to", "payload")
        row = {"from_agent": sender, "to_agent": message.get("to"), **{f: message[f] for f in fields if f in message}}
        message_id, text = message.get("id") or str(uuid.uuid4()), json.dumps(row, sort_keys=True)
        with self.db:
            self.db.execute("BEGIN IMMEDIATE")
            known = self.db.execute("SELECT seq, row FROM messages WHERE id = ?", (message_id,)).fetchone()
            if known is None:
                stamped = json.dumps({**row, "ts_ms": now_ms})
                seq = self.db.execute("INSERT INTO messages (id, row) VALUES (?, ?)", (message_id, stamped)).lastrowid
                return message_id, seq
        known_row = {k: v for k, v in json.loads(known[1]).items() if k != "ts_ms"}
        if json.dumps(known_row, sort_keys=True) != text:
            raise Refused("ID_CONFLICT", f"{message_id} is another message")
        return message_id, known[0]

    def poll(self, agent, limit):
        (cursor,) = self.db.execute("SELECT coalesce(max(seq), 0) FROM cursors WHERE agent = ?", (agent,)).fetchone()
        messages = []
        for seq, message_id, text in self.db.execute("SELECT * FROM messages WHERE seq > ? ORDER BY seq", (cursor,)):
            row = json.loads(text)
            if row["to_agent"] in (None, agent) and len(messages) < limit:
                messages.append({"seq": seq, "id": message_id, **row})
        return messages

    def ack(self, agent, seq):
        (newest,) = self.db.execute("SELECT coalesce(max(seq), 0) FROM messages").fetchone()
        if seq > newest:
            raise Refused("INVALID_ARGUMENT", f"the newest seq is {newest}")
        upsert = "INSERT INTO cursors VALUES (?, ?) ON CONFLICT DO UPDATE SET seq = max(seq, excluded.seq)"
        self.db.execute(upsert, (agent, seq))

    def claim(self, now_ms, task, agent):
        # Taken over only where it has run out: one statement, so that no other claim comes in between.
        upsert = (
            "INSERT INTO claims VALUES (?, ?, ?) ON CONFLICT DO UPDATE"
            " SET agent = excluded.agent, until_ms = excluded.until_ms WHERE until_ms <= ?"
        )
        return self.db.execute(upsert, (task, agent, now_ms + LEASE_MS, now_ms)).rowcount == 1

    def renew(self, now_ms, task, agent):
        update = "UPDATE claims SET until_ms = ? WHERE task = ? AND agent = ?"
        return self.db.execute(update, (now_ms + LEASE_MS, task, agent)).rowcount == 1

    def release(self, task, agent):
        return self.db.execute("DELETE FROM claims WHERE task = ? AND agent = ?", (task, agent)).rowcount == 1

    def beat(self, now_ms, agent, row):
        if row["status"] not in ("idle", "working", "blocked"):
            raise Refused("INVALID_ARGUMENT", f"no such status: {row['status']}")
        self.db.execute("INSERT OR REPLACE INTO beats VALUES (?, ?, ?)", (agent, now_ms, json.dumps(row)))

    def liveness(self, now_ms):
        for agent, ts_ms, text in self.db.execute("SELECT * FROM beats"):
            age_ms = now_ms - ts_ms
            state = ("ALIVE", "WARN", "STALE", "DEAD")[(age_ms >= 30_000) + (age_ms >= 100_000) + (age_ms >= 300_000)]
            yield {"agent_id": agent, "ts_ms": ts_ms, "age_ms": age_ms, "state": state, **json.loads(text)}
