"""The kit's hand on a `worker` store: a stranger's writes, damage, and the view of a reader of the files."""

from __future__ import annotations

import json
from typing import Any

from busproof.bus.hand import Hand

_COLUMNS = ("id", "ts_ms", "from_agent", "to_agent", "type", "correlation_id", "in_reply_to", "payload", "payload_ref")


class WorkerHand(Hand):
    """By the letter of seed 000, without any bus."""

    DATABASE = "bus.db"

    def stranger_publishes(self, row: dict[str, Any]) -> dict[str, Any]:
        """A row of a program without this bus."""
        values = [row.get(column) for column in _COLUMNS]
        places = ", ".join("?" * len(values))
        cursor = self.db.execute(f"INSERT INTO messages ({', '.join(_COLUMNS)}) VALUES ({places})", values)
        return {"seq": cursor.lastrowid}

    def stranger_acks(self, agent_id: str, seq: int, now_ms: int) -> dict[str, Any]:
        """The seed's own statement."""
        self.db.execute(
            "INSERT INTO cursors (agent_id, last_acked_seq, updated_at_ms) VALUES (?, ?, ?)"
            " ON CONFLICT(agent_id) DO UPDATE SET"
            " last_acked_seq = MAX(cursors.last_acked_seq, excluded.last_acked_seq),"
            " updated_at_ms = excluded.updated_at_ms",
            (agent_id, seq, now_ms),
        )
        return {}

    def stranger_claims(self, task_id: str, agent_id: str, now_ms: int, lease_until_ms: int) -> dict[str, Any]:
        """By the seed's listing: what is over goes, then the row is taken, unless somebody has it."""
        self.db.execute("DELETE FROM task_claims WHERE task_id = ? AND lease_until_ms <= ?", (task_id, now_ms))
        self.db.execute(
            "INSERT OR IGNORE INTO task_claims (task_id, claimed_by, claimed_at_ms, lease_until_ms)"
            " VALUES (?, ?, ?, ?)",
            (task_id, agent_id, now_ms, lease_until_ms),
        )
        return {}

    def stranger_releases(self, task_id: str, agent_id: str) -> dict[str, Any]:
        """The seed's own statement."""
        self.db.execute("DELETE FROM task_claims WHERE task_id = ? AND claimed_by = ?", (task_id, agent_id))
        return {}

    def stranger_deletes(self, seq: int) -> dict[str, Any]:
        """Another program clears a message away."""
        self.db.execute("DELETE FROM messages WHERE seq = ?", (seq,))
        return {}

    def stranger_beats(self, row: dict[str, Any]) -> dict[str, Any]:
        """A heartbeat of any content, by a program without this bus."""
        columns = ("agent_id", "ts_ms", "status", "current_task", "progress")
        self.db.execute("INSERT OR REPLACE INTO heartbeats VALUES (?, ?, ?, ?, ?)", [row.get(name) for name in columns])
        return {}

    def tamper(self, seq: int, column: str, value: Any) -> dict[str, Any]:
        """Change a row that stands in the log."""
        assert column in _COLUMNS
        self.db.execute(f"UPDATE messages SET {column} = ? WHERE seq = ?", (value, seq))
        return {}

    def lose_blob(self, ref: str) -> dict[str, Any]:
        """Remove its file."""
        (self.store / "blobs" / ref).unlink(missing_ok=True)
        return {}

    def spoil_blob(self, ref: str, content: str) -> dict[str, Any]:
        """Put something else into its file, if it is there."""
        path = self.store / "blobs" / ref
        if path.exists():
            path.write_text(content, encoding="utf-8")
        return {}

    def blob_files(self) -> dict[str, Any]:
        """Every file in the folder, scratch files too."""
        folder = self.store / "blobs"
        files = sorted(folder.iterdir()) if folder.is_dir() else []
        return {"files": {file.name: file.read_text(encoding="utf-8", errors="replace") for file in files}}

    def tear_export(self, tail: str) -> dict[str, Any]:
        """The leftovers of a crash in the middle of a line."""
        with (self.store / "bus.jsonl").open("a", encoding="utf-8") as file:
            file.write(tail)
        return {}

    def forget_export(self) -> dict[str, Any]:
        """The leftovers of a crash between the file and the database."""
        self.db.execute("UPDATE export_state SET last_seq = 0 WHERE id = 1")
        return {}

    def rotate_export(self) -> dict[str, Any]:
        """Move bus.jsonl away."""
        (self.store / "bus.jsonl").unlink(missing_ok=True)
        return {}

    def exported(self) -> dict[str, Any]:
        """The lines of bus.jsonl that are whole."""
        path = self.store / "bus.jsonl"
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        whole, _, _ = text.rpartition("\n")
        return {"lines": [_decoded(line) for line in whole.split("\n")] if whole else []}

    def spoil_mirror(self, worker: str, content: str | None) -> dict[str, Any]:
        """Put something else into workers/NAME.json, or remove it, if it is there."""
        path = self.store / "workers" / f"{worker}.json"
        if path.exists() and content is None:
            path.unlink()
        elif path.exists() and content is not None:
            path.write_text(content, encoding="utf-8")
        return {}

    def worker_file(self, worker: str) -> dict[str, Any]:
        """The state in workers/NAME.json."""
        path = self.store / "workers" / f"{worker}.json"
        if not path.exists():
            return {"state": None}
        content = _decoded(path.read_text(encoding="utf-8"))
        return {"state": content["state"] if isinstance(content, dict) else content}


def _decoded(line: str) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return f"not JSON: {line[:200]}"
