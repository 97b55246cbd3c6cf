"""Browsing: what a person wants to see of the bus at a glance. Reads only."""

from __future__ import annotations

from typing import Any

from refbus.topics.export import Export
from refbus.topics.route import no_topic


class Browse(Export):
    """overview."""

    def overview(self, topic_id: str | None = None) -> list[dict[str, Any]]:
        """Topics with their newest seq and the time of their newest message, the busiest lately first."""
        with self._snapshot() as connection:
            rows = connection.execute(_OVERVIEW, {"topic": topic_id}).fetchall()
        if topic_id is not None and not rows:
            raise no_topic(topic_id)
        return [dict(zip(_FIELDS, row, strict=True)) for row in rows]


_FIELDS = ("topic_id", "name", "status", "created_at", "close_reason", "newest_seq", "active_at", "peers")

_OVERVIEW = """
    SELECT t.topic_id, t.name, t.status, t.created_at, t.close_reason, coalesce(m.seq, 0),
           coalesce(m.created_at, t.created_at) AS active_at,
           (SELECT count(*) FROM agent_name_reservations AS r WHERE r.topic_id = t.topic_id)
    FROM topics AS t
    LEFT JOIN messages AS m
        ON m.topic_id = t.topic_id AND m.seq = (SELECT max(seq) FROM messages WHERE topic_id = t.topic_id)
    WHERE :topic IS NULL OR t.topic_id = :topic
    ORDER BY t.status = 'closed', active_at DESC, t.rowid DESC
"""
