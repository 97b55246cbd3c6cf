"""Browsing: what a person wants to see of the bus at a glance. Reads only."""

from __future__ import annotations

from typing import TypedDict, cast

from refbus.kernel.store import Store
from refbus.topics.route import no_topic


class Overview(TypedDict):
    """A topic at a glance."""

    topic_id: str
    name: str
    status: str
    created_at: float  # Unix seconds, as all times here
    close_reason: str | None
    newest_seq: int
    active_at: float
    peers: int


class Browse:
    """overview."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def overview(self, topic_id: str | None = None) -> list[Overview]:
        """Topics with their newest seq and the time of their newest message, the busiest lately first.

        Errors: TOPIC_NOT_FOUND.
        """
        with self._store.snapshot() as tx:
            rows = tx.dicts(_OVERVIEW, {"topic": topic_id})
        if topic_id is not None and not rows:
            raise no_topic(topic_id)
        return cast(list[Overview], rows)


_OVERVIEW = """
    SELECT t.topic_id, t.name, t.status, t.created_at, t.close_reason, coalesce(m.seq, 0) AS newest_seq,
           coalesce(m.created_at, t.created_at) AS active_at,
           (SELECT count(*) FROM agent_name_reservations AS r WHERE r.topic_id = t.topic_id) AS peers
    FROM topics AS t
    LEFT JOIN messages AS m
        ON m.topic_id = t.topic_id AND m.seq = (SELECT max(seq) FROM messages WHERE topic_id = t.topic_id)
    WHERE :topic IS NULL OR t.topic_id = :topic
    ORDER BY t.status = 'closed', active_at DESC, t.rowid DESC
"""
