"""Topics: named lanes. Each keeps its own dense sequence of messages, and a closed one is only read."""

from __future__ import annotations

import secrets
from typing import Any, Literal, NotRequired, TypedDict

from refbus.kernel.errors import TopicNotFound
from refbus.kernel.rules import limit as limits
from refbus.kernel.store import Store
from refbus.kernel.transaction import Transaction
from refbus.topics.message import metadata_text, metadata_value


class Topic(TypedDict):
    """A topic as most tools tell it."""

    topic_id: str
    name: str
    status: str  # open or closed


class TopicRow(Topic):
    """All that is known of a topic."""

    created_at: float  # Unix seconds, as all times here
    closed_at: float | None
    close_reason: str | None
    metadata: dict[str, Any] | None


class TopicList(TypedDict):
    """The reply of topic_list."""

    topics: list[TopicRow]


class Warned(TypedDict):
    """Something to know about a call that succeeded."""

    code: str
    message: str
    context: NotRequired[dict[str, Any]]


class Closed(TypedDict):
    """The reply of topic_close."""

    topic_id: str
    status: str
    closed_at: float
    close_reason: str | None
    warnings: NotRequired[list[Warned]]  # ALREADY_CLOSED


class Route:
    """topic_create, topic_list, topic_resolve and topic_close; renaming and deleting, which agents may not."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def topic_create(
        self, name: str | None = None, metadata: dict[str, Any] | None = None, mode: str = "reuse"
    ) -> Topic:
        """The newest open topic of that name, or a new one; `new` never reuses (B2: in one transaction).

        Errors: INVALID_ARGUMENT.
        """
        if name is not None:
            limits.text("name", name)
        limits.one_of("mode", mode, ("reuse", "new"))
        metadata_json = metadata_text("metadata", metadata)
        with self._store.transaction() as tx:
            topic = None if mode == "new" or name is None else _newest(tx, name, "open")
            if topic is not None:
                return topic
            topic_id = _free_id(tx)
            name = f"topic-{topic_id}" if name is None else name
            tx.execute(_CREATE, (topic_id, name, tx.now_s, metadata_json))
            tx.execute("INSERT INTO topic_seq (topic_id, next_seq, updated_at) VALUES (?, 1, ?)", (topic_id, tx.now_s))
        return {"topic_id": topic_id, "name": name, "status": "open"}

    def topic_list(self, status: str = "open") -> TopicList:
        """Topics, the newest first; `status` is open, closed or all. Errors: INVALID_ARGUMENT."""
        limits.one_of("status", status, ("open", "closed", "all"))
        with self._store.snapshot() as tx:
            rows = tx.rows(_LIST, {"status": status})
        return {"topics": [_topic_row(row) for row in rows]}

    def topic_row(self, topic_id: str) -> TopicRow:
        """One topic as topic_list tells it. Errors: INVALID_ARGUMENT, TOPIC_NOT_FOUND."""
        limits.text("topic_id", topic_id)
        with self._store.snapshot() as tx:
            row = tx.row(_ROW, (topic_id,))
        if row is None:
            raise no_topic(topic_id)
        return _topic_row(row)

    def topic_resolve(self, name: str, allow_closed: bool = False) -> Topic:
        """The newest open topic of that name; if there is none and it is allowed, the newest closed one.

        Errors: INVALID_ARGUMENT, TOPIC_NOT_FOUND.
        """
        limits.text("name", name)
        limits.flag("allow_closed", allow_closed)
        with self._store.snapshot() as tx:
            return self.resolve(tx, name, allow_closed)

    def topic_close(self, topic_id: str, reason: str | None = None) -> Closed:
        """Let nobody send to the topic any more. A second close changes nothing and warns of ALREADY_CLOSED.

        Errors: INVALID_ARGUMENT, TOPIC_NOT_FOUND.
        """
        limits.text("topic_id", topic_id)
        if reason is not None:
            limits.body("reason", reason, limits.TEXT_CHARS_MAX)
        with self._store.transaction() as tx:
            is_closing = tx.execute(_CLOSE, (tx.now_s, reason, topic_id)).rowcount == 1
            row = tx.row("SELECT status, closed_at, close_reason FROM topics WHERE topic_id = ?", (topic_id,))
            if row is None:
                raise no_topic(topic_id)
        reply: Closed = {"topic_id": topic_id, "status": row[0], "closed_at": row[1], "close_reason": row[2]}
        if not is_closing:
            message = "The topic was closed before; nothing was changed."
            reply["warnings"] = [{"code": "ALREADY_CLOSED", "message": message, "context": {"topic_id": topic_id}}]
        return reply

    def topic_rename(self, topic_id: str, name: str) -> Topic:
        """Give a topic another name. Its id and its members stay. Errors: INVALID_ARGUMENT, TOPIC_NOT_FOUND."""
        limits.text("topic_id", topic_id)
        limits.text("name", name)
        with self._store.transaction() as tx:
            tx.execute("UPDATE topics SET name = ? WHERE topic_id = ?", (name, topic_id))
            return self.topic(tx, topic_id)

    def topic_delete(self, topic_id: str) -> Topic:
        """Remove a topic with all on it; its members get TOPIC_NOT_FOUND. Errors: INVALID_ARGUMENT, TOPIC_NOT_FOUND."""
        limits.text("topic_id", topic_id)
        with self._store.transaction() as tx:
            topic = self.topic(tx, topic_id)
            is_indexed = tx.row("SELECT 1 FROM sqlite_master WHERE name = 'search_index'") is not None
            # Before the messages, which say what is theirs in the indexes.
            for sql in (_DELETE_INDEXED if is_indexed else ()) + _DELETE:
                tx.execute(sql, (topic_id,))
        return topic

    def topic(self, tx: Transaction, topic_id: str) -> Topic:
        """The topic of that id. Errors: TOPIC_NOT_FOUND."""
        row = tx.row("SELECT topic_id, name, status FROM topics WHERE topic_id = ?", (topic_id,))
        if row is None:
            raise no_topic(topic_id)
        return {"topic_id": row[0], "name": row[1], "status": row[2]}

    def resolve(self, tx: Transaction, name: str, allow_closed: bool) -> Topic:
        """The topic that a name leads to. Errors: TOPIC_NOT_FOUND."""
        topic = _newest(tx, name, "open")
        if topic is None and allow_closed:
            topic = _newest(tx, name, "closed")
        if topic is None:
            raise TopicNotFound(
                f"no {'' if allow_closed else 'open '}topic is named {name!r:.80}: topic_create makes one,"
                " topic_list shows what there is"
            )
        return topic


def no_topic(topic_id: str) -> TopicNotFound:
    """Nobody created it, or it was deleted."""
    return TopicNotFound(f"no topic has the id {topic_id!r:.80}; topic_list shows what there is")


def _newest(tx: Transaction, name: str, status: Literal["open", "closed"]) -> Topic | None:
    row = tx.row(_NEWEST, (name, status))
    return None if row is None else {"topic_id": row[0], "name": name, "status": status}


def _topic_row(row: tuple[Any, ...]) -> TopicRow:
    names = ("topic_id", "name", "status", "created_at", "closed_at", "close_reason", "metadata")
    return dict(zip(names, (*row[:-1], metadata_value(row[-1])), strict=True))  # type: ignore[return-value]


def new_id() -> str:
    """A random id of a topic or a message: a short UUID. There are only 2**40, so a writer expects collisions."""
    return secrets.token_hex(5)


def _free_id(tx: Transaction) -> str:
    while True:
        topic_id = new_id()
        if tx.row("SELECT 1 FROM topics WHERE topic_id = ?", (topic_id,)) is None:
            return topic_id


_CREATE = """
    INSERT INTO topics (topic_id, name, created_at, status, closed_at, close_reason, metadata_json)
    VALUES (?, ?, ?, 'open', NULL, NULL, ?)
"""

_NEWEST = """
    SELECT topic_id FROM topics WHERE name = ? AND status = ? ORDER BY created_at DESC, rowid DESC LIMIT 1
"""

_LIST = """
    SELECT topic_id, name, status, created_at, closed_at, close_reason, metadata_json
    FROM topics WHERE :status = 'all' OR status = :status
    ORDER BY created_at DESC, rowid DESC
"""

_ROW = """
    SELECT topic_id, name, status, created_at, closed_at, close_reason, metadata_json
    FROM topics WHERE topic_id = ?
"""

_CLOSE = """
    UPDATE topics SET status = 'closed', closed_at = ?, close_reason = ? WHERE topic_id = ? AND status <> 'closed'
"""

_DELETE_INDEXED = ("DELETE FROM search_index WHERE message_id IN (SELECT message_id FROM messages WHERE topic_id = ?)",)

_DELETE = (
    "DELETE FROM passages WHERE message_id IN (SELECT message_id FROM messages WHERE topic_id = ?)",
    "DELETE FROM search_state WHERE topic_id = ?",
    "DELETE FROM messages WHERE topic_id = ?",
    "DELETE FROM cursors WHERE topic_id = ?",
    "DELETE FROM agent_name_reservations WHERE topic_id = ?",
    "DELETE FROM reservation_fences WHERE topic_id = ?",
    "DELETE FROM topic_seq WHERE topic_id = ?",
    "DELETE FROM topics WHERE topic_id = ?",
)
