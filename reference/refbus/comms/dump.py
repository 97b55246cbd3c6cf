"""The whole state of the store, read at one moment: for resolving what a fault left unknown."""

from __future__ import annotations

from typing import Any, TypedDict

from refbus.comms.store import Store


class Dumped(TypedDict):
    """dump: rows of the tables by column, and SQLite's opinion of its file (`ok`)."""

    messages: list[dict[str, Any]]
    deliveries: list[dict[str, Any]]
    dead_letter_queue: list[dict[str, Any]]
    channel_subscriptions: list[dict[str, Any]]
    agent_status: list[dict[str, Any]]
    vote_casts: list[dict[str, Any]]
    integrity: str


class Dump:
    """dump."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def dump(self) -> Dumped:
        """Every table that says what happened, and SQLite's opinion of its file."""
        with self.store.snapshot() as tx:
            return {
                "messages": tx.dicts("SELECT * FROM messages ORDER BY rowid"),
                "deliveries": tx.dicts("SELECT * FROM message_deliveries ORDER BY message_id, agent_id"),
                "dead_letter_queue": tx.dicts("SELECT * FROM dead_letter_queue ORDER BY id"),
                "channel_subscriptions": tx.dicts(
                    "SELECT * FROM channel_subscriptions ORDER BY channel_name, agent_id"
                ),
                "agent_status": tx.dicts("SELECT * FROM agent_status ORDER BY agent_id"),
                "vote_casts": tx.dicts("SELECT * FROM vote_casts ORDER BY vote_id, agent_id"),
                "integrity": tx.integrity(),
            }
