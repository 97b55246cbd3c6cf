"""Presence: the peers that synced lately. Every sync touches a cursor, so its age is its peer's."""

from __future__ import annotations

from typing import TypedDict

from refbus.kernel.rules import limit as limits
from refbus.kernel.store import Store
from refbus.topics.route import Route


class Peer(TypedDict):
    """A reader of a topic."""

    agent_name: str
    last_seq: int
    updated_at: float  # Unix seconds
    age_seconds: float


class Present(TypedDict):
    """The reply of topic_presence."""

    topic_id: str
    window_seconds: int
    limit: int
    now: float  # Unix seconds
    peers: list[Peer]
    count: int


class Presence:
    """topic_presence."""

    def __init__(self, store: Store, route: Route) -> None:
        self._store, self._route = store, route

    def topic_presence(self, topic_id: str, window_seconds: int = 300, limit: int = 200) -> Present:
        """Peers whose last sync is at most window_seconds ago, the latest first.

        Errors: INVALID_ARGUMENT, TOPIC_NOT_FOUND.
        """
        limits.text("topic_id", topic_id)
        limits.integer("window_seconds", window_seconds, 1)
        limits.integer("limit", limit, 1)
        with self._store.snapshot() as tx:
            self._route.topic(tx, topic_id)
            rows = tx.rows(_PRESENT, (topic_id, tx.now_s - window_seconds, limit))
        peers: list[Peer] = [
            {
                "agent_name": agent_name,
                "last_seq": last_seq,
                "updated_at": updated_at,
                "age_seconds": max(0.0, tx.now_s - updated_at),
            }
            for agent_name, last_seq, updated_at in rows
        ]
        return {
            "topic_id": topic_id,
            "window_seconds": window_seconds,
            "limit": limit,
            "now": tx.now_s,
            "peers": peers,
            "count": len(peers),
        }


_PRESENT = """
    SELECT agent_name, last_seq, updated_at FROM cursors
    WHERE topic_id = ? AND updated_at >= ? AND typeof(updated_at) = 'real' AND typeof(last_seq) = 'integer'
    ORDER BY updated_at DESC, agent_name LIMIT ?
"""
