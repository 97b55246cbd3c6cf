"""Browsing: the views that a person wants of the bus at a glance. Reads only."""

from __future__ import annotations

from typing import NamedTuple, TypedDict, cast

from refbus.kernel.rules import limit as limits
from refbus.kernel.store import Store
from refbus.kernel.transaction import Transaction
from refbus.topics.message import Message, as_messages, moment, readable
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


class Shown(NamedTuple):
    """A message, and the number of the message that it answers."""

    message: Message
    answered_seq: int | None


class Voices(TypedDict):
    """The senders in a topic, and the types, each in alphabetical order."""

    senders: list[str]
    types: list[str]


class Browse:
    """overview, page, unanswered, voices."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def overview(self, topic_id: str | None = None) -> list[Overview]:
        """Topics with their newest seq and the time of their newest message, the busiest lately first.

        Errors: TOPIC_NOT_FOUND.
        """
        if topic_id is not None:
            limits.text("topic_id", topic_id)
        with self._store.snapshot() as tx:
            rows = tx.dicts(_OVERVIEW, {"topic": topic_id})
        if topic_id is not None and not rows:
            raise no_topic(topic_id)
        for row in rows:
            row["active_at"] = moment(row["active_at"])
        return cast(list[Overview], rows)

    def page(
        self,
        topic_id: str,
        *,
        after: int | None = None,
        limit: int = 100,
        sender: str | None = None,
        message_type: str | None = None,
    ) -> list[Shown]:
        """The first messages after a seq, or the newest ones; of one sender or type, if asked for. In seq order.

        Errors: INVALID_ARGUMENT, TOPIC_NOT_FOUND.
        """
        if after is not None:
            limits.integer("after", after)
        limits.integer("limit", limit, 1)
        for what, value in (("sender", sender), ("message_type", message_type)):
            if value is not None:
                limits.body(what, value, limits.TEXT_CHARS_MAX)
        values = {"topic": topic_id, "after": after, "limit": limit, "sender": sender, "type": message_type}
        with self._store.snapshot() as tx:
            self._refuse_unknown(tx, topic_id)
            rows = tx.rows(_NEWEST if after is None else _AFTER, values)
        if after is None:
            rows.reverse()
        return [Shown(message, row[-1]) for message, row in zip(as_messages([r[:-1] for r in rows]), rows, strict=True)]

    def unanswered(self, topic_id: str, limit: int = 20) -> list[Message]:
        """Questions that no message replies to, the oldest first. Errors: TOPIC_NOT_FOUND."""
        with self._store.snapshot() as tx:
            self._refuse_unknown(tx, topic_id)
            return as_messages(tx.rows(_UNANSWERED, (topic_id, limit)))

    def voices(self, topic_id: str) -> Voices:
        """The senders and types of a topic's messages, as far as they have any. Errors: TOPIC_NOT_FOUND."""
        with self._store.snapshot() as tx:
            self._refuse_unknown(tx, topic_id)
            pairs = tx.rows("SELECT DISTINCT sender, message_type FROM messages WHERE topic_id = ?", (topic_id,))
        senders, types = ({str(readable(pair[at])) for pair in pairs if pair[at] is not None} for at in (0, 1))
        return {"senders": sorted(senders), "types": sorted(types)}

    @staticmethod
    def _refuse_unknown(tx: Transaction, topic_id: str) -> None:
        limits.text("topic_id", topic_id)
        if tx.row("SELECT 1 FROM topics WHERE topic_id = ?", (topic_id,)) is None:
            raise no_topic(topic_id)


_PAGE = """
    SELECT m.message_id, m.topic_id, m.seq, m.sender, m.message_type, m.reply_to, m.content_markdown, m.metadata_json,
           m.client_message_id, m.created_at, a.seq
    FROM messages AS m LEFT JOIN messages AS a ON a.message_id = m.reply_to AND a.topic_id = m.topic_id
    WHERE m.topic_id = :topic AND typeof(m.seq) = 'integer'
        AND (:sender IS NULL OR m.sender = :sender) AND (:type IS NULL OR m.message_type = :type)
"""
_AFTER = f"{_PAGE} AND m.seq > :after ORDER BY m.seq LIMIT :limit"
_NEWEST = f"{_PAGE} ORDER BY m.seq DESC LIMIT :limit"

_UNANSWERED = """
    SELECT message_id, topic_id, seq, sender, message_type, reply_to, content_markdown, metadata_json,
           client_message_id, created_at
    FROM messages AS q
    WHERE topic_id = ? AND message_type = 'question' AND typeof(seq) = 'integer'
        AND NOT EXISTS (SELECT 1 FROM messages AS m WHERE m.topic_id = q.topic_id AND m.reply_to = q.message_id)
    ORDER BY seq LIMIT ?
"""

_OVERVIEW = """
    SELECT t.topic_id, t.name, t.status, t.created_at, t.close_reason, coalesce(m.seq, 0) AS newest_seq,
           coalesce(m.created_at, t.created_at) AS active_at,
           (SELECT count(*) FROM agent_name_reservations AS r WHERE r.topic_id = t.topic_id) AS peers
    FROM topics AS t
    LEFT JOIN messages AS m
        ON m.topic_id = t.topic_id AND m.seq = (
            SELECT seq FROM messages WHERE topic_id = t.topic_id AND typeof(seq) = 'integer' ORDER BY seq DESC LIMIT 1)
    WHERE :topic IS NULL OR t.topic_id = :topic
    ORDER BY t.status = 'closed', active_at DESC, t.rowid DESC
"""
