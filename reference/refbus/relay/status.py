"""How many messages are in each state, and the agents."""

from __future__ import annotations

from typing import TypedDict

from refbus.relay.presence import AgentState, Presence
from refbus.relay.store import Store


class Standing(TypedDict):
    """Rows of the ledger by status, and the agents by name."""

    pending: int
    processing: int
    completed: int
    failed: int
    archived: int
    agents: list[AgentState]


class Status:
    """The state of the ledger, in numbers."""

    def __init__(self, store: Store, presence: Presence) -> None:
        self._store, self._presence = store, presence

    def status(self) -> Standing:
        """Now."""
        with self._store.snapshot() as tx:
            count = dict(tx.rows("SELECT status, count(*) FROM messages GROUP BY status"))
            return {
                "pending": count.get("pending", 0),
                "processing": count.get("processing", 0),
                "completed": count.get("completed", 0),
                "failed": count.get("failed", 0),
                "archived": count.get("archived", 0),
                "agents": self._presence.states(tx),
            }
