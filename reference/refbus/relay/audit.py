"""The audit log (5.4, 7.3): things that were refused or removed, or are odd, each told once until it is another.

The changes of the ledger are logged beside it, by triggers of the file itself: also those that somebody else makes.
"""

from __future__ import annotations

import logging
from typing import Any, TypedDict

from refbus.kernel.msgfile import Stat
from refbus.kernel.transaction import Transaction
from refbus.relay.store import Store

log = logging.getLogger("refbus.relay.audit")


class Record(TypedDict):
    """One record; `path` is relative to the root."""

    id: int
    at_ms: int
    event: str
    path: str
    detail: str | None


class Records(TypedDict):
    """All of them, in their order."""

    records: list[Record]


class Audit:
    """The table audit_log."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.added = 0  # since this orchestrator opened

    def add(self, tx: Transaction, event: str, path: str, detail: str | None = None, stat: Stat | None = None) -> None:
        """Record an event. One with a stat is recorded once, until the thing at the path has another."""
        inode, mtime_ns = (None, None) if stat is None else (stat.inode, stat.mtime_ns)
        if stat is not None:
            last = tx.row(
                "SELECT file_inode, file_mtime_ns FROM audit_log WHERE path = ? AND event = ? ORDER BY id DESC LIMIT 1",
                (path, event),
            )
            if last == (inode, mtime_ns):
                return
        tx.execute(
            "INSERT INTO audit_log (at_ms, event, path, detail, file_inode, file_mtime_ns) VALUES (?, ?, ?, ?, ?, ?)",
            (tx.now_ms, event, path, detail, inode, mtime_ns),
        )
        self.added += 1
        log.warning(event, extra={"path": path, "detail": detail})

    def audit(self) -> Records:
        """All records, in their order."""
        with self._store.snapshot() as tx:
            records = tx.dicts("SELECT id, at_ms, event, path, detail FROM audit_log ORDER BY id")
        return {"records": records}  # type: ignore[typeddict-item]

    def trail(self, *, changes: bool) -> list[dict[str, Any]]:
        """The same and all that failed or was denied, by time; with `changes` every change of the ledger."""
        with self._store.snapshot() as tx:
            return tx.dicts(
                "SELECT at_ms, event, path, detail FROM ("
                "SELECT at_ms, event, path, detail, id FROM audit_log UNION ALL "
                "SELECT at_ms, event, path, detail, id FROM ledger_log WHERE ? OR event = 'failed'"
                ") ORDER BY at_ms, id",
                (changes,),
            )
