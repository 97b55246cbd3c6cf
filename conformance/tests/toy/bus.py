"""A bus of notes over SQLite, with its adapter. `late` as an argument plants a fault: it answers before it stores."""

import json
import sqlite3
import sys
from pathlib import Path

HELLO = {"protocol": "1", "name": "toy", "version": "1", "language": "python", "systems": ["toy"]}
HELLO |= {"nouns": ["log"], "features": ["dump"], "clock": "wall"}
TABLE = "CREATE TABLE IF NOT EXISTS notes (seq INTEGER PRIMARY KEY, id TEXT UNIQUE, agent_id TEXT, text TEXT)"


class Toy:
    """One session."""

    def __init__(self, is_late):
        self.is_late, self.late = is_late, []

    def hello(self, protocol, system):
        return HELLO

    def open(self, store, options):
        self.db = sqlite3.connect(Path(store) / "toy.db", timeout=10, isolation_level=None)
        self.db.execute("PRAGMA journal_mode = WAL")
        self.db.execute(TABLE)
        return {}

    def close(self):
        self.catch_up()
        self.db.close()
        return {}

    def note(self, agent_id, id, text):
        self.catch_up()
        if self.is_late:
            self.late.append((id, agent_id, text))
            return {}
        return {"seq": self.store(id, agent_id, text)}

    def notes(self):
        rows = self.db.execute("SELECT seq, id, agent_id, text FROM notes ORDER BY seq")
        return {"notes": [dict(zip(("seq", "id", "agent_id", "text"), row, strict=True)) for row in rows]}

    def dump(self):
        return {"messages": self.notes()["notes"]}

    def store(self, *note):
        self.db.execute("INSERT OR IGNORE INTO notes (id, agent_id, text) VALUES (?, ?, ?)", note)
        return self.db.execute("SELECT seq FROM notes WHERE id = ?", note[:1]).fetchone()[0]

    def catch_up(self):
        while self.late:
            self.store(*self.late.pop())


def answer(toy, line):
    """One answer for one line."""
    try:
        request = json.loads(line)
    except ValueError:
        return {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "no JSON"}}
    reply = {"jsonrpc": "2.0", "id": request["id"]}
    method = getattr(toy, request["method"], None)
    if method is None:
        return reply | {"error": {"code": -32601, "message": "no such method"}}
    try:
        return reply | {"result": method(**request["params"])}
    except (TypeError, sqlite3.Error) as error:
        return reply | {"error": {"code": -32000, "message": str(error), "data": {"code": "BUSY", "definite": True}}}


if __name__ == "__main__":
    session = Toy(is_late="late" in sys.argv)
    for asked in sys.stdin:
        print(json.dumps(answer(session, asked)), flush=True)
