"""Presence: who synced lately. A cursor is touched by every sync, so its age is its peer's."""

from __future__ import annotations

from typing import Any

from refbus.kernel.rules import limit as limits
from refbus.topics.route import Topics


class Presence(Topics):
    """topic_presence."""

    def topic_presence(self, topic_id: str, window_seconds: int = 300, limit: int = 200) -> dict[str, Any]:
        """Peers whose last sync is at most window_seconds ago, the latest first."""
        limits.text("topic_id", topic_id)
        limits.integer("window_seconds", window_seconds, 1)
        limits.integer("limit", limit, 1)
        with self._snapshot() as connection:
            self._topic(connection, topic_id)
            now = self._now()
            rows = connection.execute(_PRESENT, (topic_id, now - window_seconds, limit)).fetchall()
        peers = [
            {
                "agent_name": agent_name,
                "last_seq": last_seq,
                "updated_at": updated_at,
                "age_seconds": max(0.0, now - updated_at),
            }
            for agent_name, last_seq, updated_at in rows
        ]
        return {
            "topic_id": topic_id,
            "window_seconds": window_seconds,
            "limit": limit,
            "now": now,
            "peers": peers,
            "count": len(peers),
        }


_PRESENT = """
    SELECT agent_name, last_seq, updated_at FROM cursors
    WHERE topic_id = ? AND updated_at >= ? ORDER BY updated_at DESC, agent_name LIMIT ?
"""
