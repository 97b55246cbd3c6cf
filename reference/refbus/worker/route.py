"""Routes: the messages that concern an agent: its own and the broadcasts past its cursor, and those redriven to it."""

from __future__ import annotations

from typing import Any

from refbus.kernel.transaction import Transaction
from refbus.worker.store import Store


class Routes:
    """The unread messages of an agent."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def unread(self, agent_id: str, limit: int) -> list[Any]:
        """Rows in seq order. Redriven messages are marked as handed out, so that they can be acknowledged."""
        rows = self._store.db.rows(_UNREAD, {"agent": agent_id, "limit": limit})
        if self._store.db.row("SELECT 1 FROM redriven WHERE agent_id = ? LIMIT 1", (agent_id,)):
            return self._with_redriven(agent_id, limit)
        return rows

    def count_unread(self, tx: Transaction, agent_id: str, count_max: int) -> int:
        """How many rows `unread` would give, counted no further than needed to tell whether count_max are reached."""
        return int(tx.row(_COUNT_UNREAD, {"agent": agent_id, "bound": count_max})[0])

    def _with_redriven(self, agent_id: str, limit: int) -> list[Any]:
        """Redriven messages lie below the cursor and so come first."""
        with self._store.transaction() as tx:
            redriven = tx.rows(_REDRIVEN, {"agent": agent_id, "limit": limit})
            tx.executemany(
                "UPDATE redriven SET is_delivered = 1 WHERE agent_id = ? AND seq = ?",
                [(agent_id, row[0]) for row in redriven],
            )
            return redriven + tx.rows(_UNREAD, {"agent": agent_id, "limit": limit - len(redriven)})


# 0 for an agent that never acknowledged anything; a number also where another program made the cursor a text.
POSITION = "coalesce((SELECT CAST(last_acked_seq AS INTEGER) FROM cursors WHERE agent_id = :agent), 0)"

# The two parts of the log that concern an agent, each read in index order and merged: the cost depends on the limit,
# not on how much is stored. (The seed's OR sorts everything unread.)
_UNREAD = f"""
    SELECT seq, id, ts_ms, from_agent, to_agent, type, correlation_id, in_reply_to, payload, payload_ref
    FROM messages
    WHERE to_agent = :agent AND seq > {POSITION}
    UNION ALL
    SELECT seq, id, ts_ms, from_agent, to_agent, type, correlation_id, in_reply_to, payload, payload_ref
    FROM messages
    WHERE to_agent IS NULL AND seq > {POSITION}
    ORDER BY seq LIMIT :limit
"""

_REDRIVEN = """
    SELECT seq, id, ts_ms, from_agent, to_agent, type, correlation_id, in_reply_to, payload, payload_ref
    FROM messages WHERE seq IN (SELECT seq FROM redriven WHERE agent_id = :agent)
    ORDER BY seq LIMIT :limit
"""

# The rows of `unread`, counted no further than the bound, so that the cost does not depend on how much lies unread.
_COUNT_UNREAD = f"""
    WITH position(seq) AS (SELECT {POSITION})
    SELECT count(*) FROM (
        SELECT * FROM (SELECT 1 FROM messages, position
                       WHERE to_agent = :agent AND messages.seq > position.seq LIMIT :bound)
        UNION ALL
        SELECT * FROM (SELECT 1 FROM messages, position
                       WHERE to_agent IS NULL AND messages.seq > position.seq LIMIT :bound)
        UNION ALL
        SELECT * FROM (SELECT 1 FROM messages
                       WHERE seq IN (SELECT seq FROM redriven WHERE agent_id = :agent) LIMIT :bound)
    )
"""
