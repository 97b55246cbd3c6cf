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
            counts = {status: count.get(status, 0) for status in Standing.__annotations__}
            return {**counts, "agents": self._presence.states(tx)}  # type: ignore[typeddict-item]
