"""The kit's hand on a `comms` project: a stranger's writes, links, and the view of a reader of the files."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from busproof.bus.hand import Hand
from busproof.contract.comms import Envelope

_COLUMNS = (*Envelope.model_fields, "created_at", "expires_at")
REQUEST_S_MAX = 3.0
OUTSIDE = {"secret": "of another project"}


class CommsHand(Hand):
    """By the letter of seed 001, without any bus."""

    DATABASE = ".claude/communications/messages.db"

    @property
    def trail(self) -> Path:
        """The audit trail's file."""
        return self.store / ".claude" / "audit-trail.jsonl"

    def stranger_sends(self, row: dict[str, Any]) -> dict[str, Any]:
        """The seed's own statements: the message, and its recipient's count."""
        columns = {"version": "1.0", "created_at": row["timestamp"], **row, "payload": json.dumps(row["payload"])}
        places = ", ".join("?" * len(_COLUMNS))
        self.db.execute(
            f"INSERT INTO messages ({', '.join(_COLUMNS)}) VALUES ({places})", [columns.get(name) for name in _COLUMNS]
        )
        if row.get("to_agent") is not None:
            self.db.execute(
                "INSERT INTO agent_status (agent_id, status, last_heartbeat, messages_pending) VALUES (?, 'idle', ?, 1)"
                " ON CONFLICT(agent_id) DO UPDATE SET messages_pending = messages_pending + 1",
                (row["to_agent"], row["timestamp"]),
            )
        return {}

    def stranger_claims(self, message_id: str, at: str, count: int) -> dict[str, Any]:
        """By the seed's tables alone: a message that nobody has ever claimed. Some count deliveries, some do not."""
        taken = self.db.execute(
            "UPDATE messages SET status = 'processing', last_delivered_at = ?, delivery_count = delivery_count + ?"
            " WHERE id = ? AND status = 'pending' AND last_delivered_at IS NULL AND to_agent IS NOT NULL",
            (at, count, message_id),
        )
        if taken.rowcount:
            self.db.execute(
                "UPDATE agent_status SET messages_pending = max(0, messages_pending - 1)"
                " WHERE agent_id = (SELECT to_agent FROM messages WHERE id = ?)",
                (message_id,),
            )
        return {}

    def spoil(self, message_id: str, text: str) -> dict[str, Any]:
        """A payload becomes a text that no sender can have said."""
        self.db.execute("UPDATE messages SET payload = ? WHERE id = ?", (text, message_id))
        return {}

    def cut_letter(self, id: str, member: str) -> dict[str, Any]:
        """A dead letter loses a part of its message."""
        self.db.execute(
            "UPDATE dead_letter_queue SET original_message = json_remove(original_message, ?) WHERE id = ?",
            (f"$.{member}", id),
        )
        return {}

    def stranger_answers(self, agent_id: str, ids: list[str], at: str) -> dict[str, Any]:
        """Once a request lies in front of the agent: an answer to another request, then the awaited one."""
        query = "SELECT correlation_id, from_agent, channel FROM messages WHERE to_agent = ? AND status = 'pending'"
        until = time.monotonic() + REQUEST_S_MAX
        while (asked := self.db.execute(f"{query} ORDER BY rowid DESC", (agent_id,)).fetchone()) is None:
            if time.monotonic() > until:
                return {}  # it was refused
            time.sleep(0.002)
        for name, link in zip(ids, ("another", asked[0]), strict=True):
            answer = {"from_agent": agent_id, "to_agent": asked[1], "channel": asked[2], "correlation_id": link}
            payload: dict[str, Any] = {"context": {}}
            row = {"id": name, "type": "context.response", "timestamp": at, "priority": 5, "payload": payload, **answer}
            self.stranger_sends(row)
        return {}

    def link_artifact(self, artifact_path: str) -> dict[str, Any]:
        """In place of the file, a link to one outside of the project that holds JSON, too."""
        path = self.store / artifact_path
        if path.exists() and not path.is_symlink():
            outside = self.store.parent / "outside.json"
            outside.write_text(json.dumps(OUTSIDE), encoding="utf-8")
            path.unlink()
            path.symlink_to(outside)
        return {}

    def spoil_artifact(self, artifact_path: str, text: str | None) -> dict[str, Any]:
        """Put something else into its file, or remove it, if it is there and no link."""
        path = self.store / artifact_path
        if path.exists() and not path.is_symlink():
            path.unlink() if text is None else path.write_text(text, encoding="utf-8")
        return {}

    def strangers_line(self, line: dict[str, Any]) -> dict[str, Any]:
        """Another program writes a line."""
        with self.trail.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
        return {}

    def strangers_text(self, text: str) -> dict[str, Any]:
        """Another program writes anything, and perhaps no end of its line."""
        with self.trail.open("a", encoding="utf-8") as file:
            file.write(text)
        return {}

    def audit_lines(self) -> dict[str, Any]:
        """Every line; one that is not a JSON object as a text."""
        text = self.trail.read_text(encoding="utf-8") if self.trail.exists() else ""
        return {"lines": [_decoded(line) for line in text.splitlines()]}


def _decoded(line: str) -> Any:
    try:
        value = json.loads(line)
    except ValueError:
        return line
    return value if isinstance(value, dict) else line
