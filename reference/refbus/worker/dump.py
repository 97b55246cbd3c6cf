"""The whole state of the store, read at one moment: for resolving what a fault left unknown."""

from __future__ import annotations

from refbus.worker.replies import Dumped
from refbus.worker.store import Store


class Dump:
    """dump."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def dump(self) -> Dumped:
        """Every table that says what happened, and SQLite's opinion of its file."""
        with self._store.snapshot() as tx:
            stated = tx.row("SELECT last_seq FROM export_state WHERE id = 1")
            return {
                "messages": tx.dicts("SELECT * FROM messages ORDER BY seq"),
                "cursors": tx.dicts("SELECT * FROM cursors ORDER BY agent_id"),
                "task_claims": tx.dicts("SELECT * FROM task_claims ORDER BY task_id"),
                "heartbeats": tx.dicts("SELECT * FROM heartbeats ORDER BY agent_id"),
                "archived": tx.dicts("SELECT * FROM archived_messages ORDER BY seq"),
                "dead_letters": tx.dicts("SELECT * FROM dead_letters ORDER BY agent_id, seq"),
                "task_tokens": tx.dicts("SELECT * FROM task_tokens ORDER BY task_id"),
                "export_last_seq": None if stated is None else stated[0],
                "integrity": tx.integrity(),
            }
