"""The cursor: poll shows an agent's unacknowledged messages, ack moves on, and only forward."""

from __future__ import annotations

from refbus.kernel.rules import cursor
from refbus.kernel.rules import limit as limits
from refbus.kernel.transaction import Transaction
from refbus.worker.reader import Reader
from refbus.worker.replies import Acknowledged, Messages
from refbus.worker.route import POSITION, Routes
from refbus.worker.store import Store

WAIT_MS_MAX = 24 * 60 * 60 * 1000


class Cursors:
    """poll and ack."""

    def __init__(self, store: Store, routes: Routes, reader: Reader) -> None:
        self._store, self._routes, self._reader = store, routes, reader

    def poll(self, agent_id: str, limit: int = 100, wait_ms: int = 0) -> Messages:
        """Unacknowledged messages, in seq order; redriven ones first. Never moves the cursor.

        Waits up to wait_ms of real time for a first one. Errors: INVALID_ARGUMENT.
        """
        limits.name("agent_id", agent_id)
        limits.integer("limit", limit)
        limits.integer("wait_ms", wait_ms, 0, WAIT_MS_MAX)
        rows = self._routes.unread(agent_id, limit)
        if not rows and wait_ms and limit:
            rows = self._store.wait_for(lambda: self._routes.unread(agent_id, limit), wait_ms / 1000)
        return {"messages": self._reader.messages(rows)}

    def ack(self, agent_id: str, seq: int) -> Acknowledged:
        """Everything up to seq is processed. Backwards is a no-op.

        Errors: INVALID_ARGUMENT, also above the newest message (W5).
        """
        limits.name("agent_id", agent_id)
        limits.integer("seq", seq)
        newest, current, has_more = self._store.db.row(_BEFORE_ACK, {"agent": agent_id})
        # Judged without the lock: both numbers only ever grow, so a yes stays a yes.
        moved_to = cursor.advance(current, seq, newest)
        if has_more:
            return {"last_acked_seq": self._ack_and_settle(agent_id, seq)}
        self._store.db.write(_ADVANCE, (agent_id, seq, self._store.clock.now_ms()))
        return {"last_acked_seq": moved_to}

    def advance(self, tx: Transaction, agent_id: str, seq: int) -> None:
        """Move the cursor inside a transaction; backwards is a no-op."""
        tx.execute(_ADVANCE, (agent_id, seq, tx.now_ms))

    def _ack_and_settle(self, agent_id: str, seq: int) -> int:
        """An acknowledgement also settles counted deliveries, and redriven messages that were handed out."""
        with self._store.transaction() as tx:
            self.advance(tx, agent_id, seq)
            tx.execute("DELETE FROM deliveries WHERE agent_id = ? AND seq <= ?", (agent_id, seq))
            tx.execute("DELETE FROM redriven WHERE agent_id = ? AND seq <= ? AND is_delivered", (agent_id, seq))
            return int(tx.row("SELECT last_acked_seq FROM cursors WHERE agent_id = ?", (agent_id,))[0])


_BEFORE_ACK = f"""
    SELECT max(coalesce((SELECT max(seq) FROM messages), 0), coalesce((SELECT max(seq) FROM archived_messages), 0)),
           {POSITION},
           EXISTS (SELECT 1 FROM deliveries WHERE agent_id = :agent)
           OR EXISTS (SELECT 1 FROM redriven WHERE agent_id = :agent)
"""

_ADVANCE = """
    INSERT INTO cursors (agent_id, last_acked_seq, updated_at_ms) VALUES (?, ?, ?)
    ON CONFLICT (agent_id) DO UPDATE SET
        last_acked_seq = max(CAST(cursors.last_acked_seq AS INTEGER), excluded.last_acked_seq),
        updated_at_ms = excluded.updated_at_ms
"""
