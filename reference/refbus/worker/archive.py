"""Archival: messages that everybody has processed leave the log, then the file is compacted.

*Everybody* is every agent that has a cursor, and the addressee. An agent that only ever polled has none: one that
wants to be waited for acknowledges seq 0 when it starts. Dead letters and redriven messages stay. An archived message
keeps its seq and its id: its id remains taken, search finds it, and the export, should it lag, still writes it.
"""

from __future__ import annotations

import contextlib

from refbus.kernel.errors import BusError, after_a_part
from refbus.kernel.rules import cursor
from refbus.kernel.transaction import Transaction
from refbus.worker.replies import Archived
from refbus.worker.store import Store

ROWS_AT_ONCE = 5000


class Archive:
    """archive."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def archive(self) -> Archived:
        """Move out what is acknowledged by all; then vacuum, which holds up writers: a job for a quiet hour."""
        moved, last_seq, below_seq = 0, 0, 1
        while last_seq < below_seq:
            # A part at a time, so that publishers get the lock in between. An agent may get its first cursor there.
            with after_a_part(lambda: moved), self._store.transaction() as tx:  # noqa: B023
                positions = tx.rows("SELECT CAST(last_acked_seq AS INTEGER) FROM cursors")
                below_seq = cursor.archivable_below([seq for (seq,) in positions])
                some, last_seq = self._move_some(tx, last_seq, below_seq)
            moved += some
        if moved:
            self._compact()
        return {"archived": moved, "below_seq": below_seq}

    def _move_some(self, tx: Transaction, last_seq: int, below_seq: int) -> tuple[int, int]:
        """How many were moved, and up to which seq."""
        bounds = {"last": last_seq, "below": below_seq, "limit": ROWS_AT_ONCE}
        (bounds["upto"],) = tx.row(_END_OF_PART, bounds)
        tx.execute(_COPY, bounds)
        return tx.execute(_DELETE_COPIED, bounds).rowcount, bounds["upto"]

    def _compact(self) -> None:
        # The messages have moved already; a busy or full disk only leaves the file larger than it need be.
        with contextlib.suppress(BusError):
            self._store.db.write("VACUUM")
            self._store.db.rows("PRAGMA wal_checkpoint(TRUNCATE)")


def bring_back(tx: Transaction, seq: int) -> None:
    """Into the log, where dead letters stay."""
    tx.execute(_BRING_BACK, (seq,))
    tx.execute("DELETE FROM archived_messages WHERE seq = ? AND seq IN (SELECT seq FROM messages)", (seq,))


_BRING_BACK = """
    INSERT INTO messages (seq, id, ts_ms, from_agent, to_agent, type, correlation_id, in_reply_to, payload, payload_ref)
    SELECT seq, id, ts_ms, from_agent, to_agent, type, correlation_id, in_reply_to, payload, payload_ref
    FROM archived_messages WHERE seq = ?
"""

_END_OF_PART = """
    SELECT coalesce(
        (SELECT seq FROM messages WHERE seq > :last AND seq <= :below ORDER BY seq LIMIT 1 OFFSET :limit), :below
    )
"""

_COPY = """
    INSERT INTO archived_messages
    SELECT seq, id, ts_ms, from_agent, to_agent, type, correlation_id, in_reply_to, payload, payload_ref
    FROM messages
    WHERE seq > :last AND seq <= :upto
      AND (to_agent IS NULL OR to_agent IN (SELECT agent_id FROM cursors))
      AND seq NOT IN (SELECT seq FROM dead_letters)
      AND seq NOT IN (SELECT seq FROM redriven)
"""

_DELETE_COPIED = """
    DELETE FROM messages
    WHERE seq > :last AND seq <= :upto
      AND seq IN (SELECT seq FROM archived_messages WHERE seq > :last AND seq <= :upto)
"""
