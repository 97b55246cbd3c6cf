"""The audit trail: every change, recorded in the transaction that made it, and moved to `.claude/audit-trail.jsonl`.

Others write to that file, too ("already exists"), so its lines stand among theirs; ours begin with `audit_seq`. It is
brought up to date on close, on clean-up and on request, so that no operation waits for a second file.
"""

from __future__ import annotations

import json
from typing import Any, TypedDict

from refbus.comms.store import Store
from refbus.kernel import iso, jsontext
from refbus.kernel.errors import BusError, IoError
from refbus.kernel.jsonl import JsonlFile
from refbus.kernel.transaction import Transaction

ROWS_AT_ONCE = 1000
OWN_START = b'{"audit_seq": '  # of every line that `_line` makes


class Exported(TypedDict):
    """export_audit_trail: how many events left the table."""

    exported: int


class Unsynced(IoError):
    """A sync failed, and the system has dropped what it was to write: nobody may be told that it is stored."""


class Audit:
    """export_audit_trail; and `record` for every other noun."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def export_audit_trail(self) -> Exported:
        """Append the events that audit-trail.jsonl lacks: each exactly once, whatever crashes.

        Errors: BUSY while another exports for too long, DISK_FULL, IO_ERROR; the next export makes up for them.
        """
        if self.store.db.row("SELECT 1 FROM audit_log LIMIT 1") is None:
            return {"exported": 0}
        trail, lock = self.store.root / ".claude" / "audit-trail.jsonl", self.store.folder / "audit.lock"
        file = JsonlFile(trail, lock, self, own_start=OWN_START)
        with file.locked():
            last_seq = file.bring_up_to_date()
            file.make_durable()
            done = self.store.db.write("DELETE FROM audit_log WHERE audit_seq <= ?", (last_seq,)).rowcount
        return {"exported": done}

    def try_to_export(self) -> None:
        """The operation stays done, whatever becomes of the trail: the next export that succeeds brings it up to date.

        Errors: IO_ERROR, perhaps done, where the log of the database cannot be synced: its newest commits may be lost.
        """
        try:
            self.export_audit_trail()
        except BusError as error:
            if isinstance(error, Unsynced):
                raise

    def record(self, tx: Transaction, event: str, agent_id: str | None, message_id: str | None, **details: Any) -> None:
        """One event, at the transaction's moment."""
        tx.execute(
            "INSERT INTO audit_log (at, event, agent_id, message_id, details) VALUES (?, ?, ?, ?, ?)",
            (iso.text(tx.now_us), event, agent_id, message_id, jsontext.encode(details)),
        )

    def lines_after(self, last_seq: int) -> tuple[list[str], int]:
        """The next events as lines."""
        rows = self.store.db.rows(
            """
            SELECT audit_seq, at, event, agent_id, message_id, details FROM audit_log
            WHERE audit_seq > ? ORDER BY audit_seq LIMIT ?
            """,
            (last_seq, ROWS_AT_ONCE),
        )
        return [_line(row) for row in rows], rows[-1][0] if rows else last_seq

    def make_durable(self) -> None:
        """Rows before their lines."""
        try:
            self.store.db.make_durable()
        except OSError as error:
            raise Unsynced(f"the log of the database cannot be synced: {error}", definite=False) from error

    def holds(self, exported: Any) -> int | None:
        """The audit_seq of a line that tells this table's event, or one that is older than all it still has."""
        seq = exported.get("audit_seq") if isinstance(exported, dict) else None
        if type(seq) is not int or not 0 < seq < 2**63:
            return None
        row = self.store.db.row(_EVENT, (seq,))
        if row is not None:
            return seq if json.loads(_line(row)) == exported else None
        (oldest,) = self.store.db.row("SELECT min(audit_seq) FROM audit_log")
        return seq if oldest is None or seq < oldest else None


def _line(row: tuple[Any, ...]) -> str:
    seq, at, event, agent_id, message_id, details = row
    line = {"audit_seq": seq, "timestamp": at, "event": event, "agent_id": agent_id, "message_id": message_id}
    return json.dumps({**line, **json.loads(details)}) + "\n"


_EVENT = "SELECT audit_seq, at, event, agent_id, message_id, details FROM audit_log WHERE audit_seq = ?"
