"""The audit trail: every change, recorded in the transaction that made it, and moved to `.claude/audit-trail.jsonl`.

Others write to that file, too ("already exists"), so its lines stand among theirs; ours carry `audit_seq`. It is
brought up to date on close, on clean-up and on request, so that no operation waits for a second file.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
from typing import Any

from refbus.comms.store import Store
from refbus.kernel.errors import BusError
from refbus.kernel.jsonl import JsonlFile

ROWS_AT_ONCE = 1000


class Audit(Store):
    """export_audit_trail."""

    def export_audit_trail(self) -> dict[str, Any]:
        """Append to audit-trail.jsonl what it lacks: each event exactly once, whatever crashes."""
        if self.db.row("SELECT 1 FROM audit_log LIMIT 1") is None:
            return {"exported": 0}
        claude = self.root / ".claude"
        file = JsonlFile(claude / "audit-trail.jsonl", self.folder / "audit.lock", self, own_key="audit_seq")
        with file.locked():
            last_seq = file.bring_up_to_date()
            file.make_durable()
            done = self.db.write("DELETE FROM audit_log WHERE audit_seq <= ?", (last_seq,)).rowcount
        return {"exported": done}

    def close(self) -> None:
        """Bring the audit trail up to date if that can be done now, then close."""
        try:
            self._try_to_export()
        finally:
            super().close()

    def _try_to_export(self) -> None:
        """What was done is done, whatever becomes of the trail: the next one who can brings it up to date."""
        with contextlib.suppress(BusError):
            self.export_audit_trail()

    def lines_after(self, last_seq: int) -> tuple[list[str], int]:
        """The next events as lines."""
        rows = self.db.rows(
            """
            SELECT audit_seq, at, event, agent_id, message_id, details FROM audit_log
            WHERE audit_seq > ? ORDER BY audit_seq LIMIT ?
            """,
            (last_seq, ROWS_AT_ONCE),
        )
        return [_line(row) for row in rows], rows[-1][0] if rows else last_seq

    def holds(self, exported: Any) -> int | None:
        """The audit_seq of a line of ours, if the table has given that number out."""
        seq = exported.get("audit_seq") if isinstance(exported, dict) else None
        if type(seq) is not int or not 0 < seq < 2**63:
            return None
        row = self.db.row("SELECT seq FROM sqlite_sequence WHERE name = 'audit_log'")
        return seq if row is not None and seq <= row[0] else None

    def _record(
        self, connection: sqlite3.Connection, event: str, agent_id: str | None, message_id: str | None, **details: Any
    ) -> None:
        connection.execute(
            "INSERT INTO audit_log (at, event, agent_id, message_id, details) VALUES (?, ?, ?, ?, ?)",
            (self._now(), event, agent_id, message_id, json.dumps(details)),
        )


def _line(row: tuple[Any, ...]) -> str:
    seq, at, event, agent_id, message_id, details = row
    told = {"audit_seq": seq, "timestamp": at, "event": event, "agent_id": agent_id, "message_id": message_id}
    return json.dumps({**told, **json.loads(details)}) + "\n"
