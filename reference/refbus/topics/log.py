"""The log of a topic: dense numbers, the storing of sends, and a reader's unread messages.

A row of another program whose seq is no whole number has no place in that order, and every statement passes over it.

Functions of an open transaction. `kernel.rules.sync` decides; this file has the SQL.
"""

from __future__ import annotations

import functools
import random
import sqlite3
from collections.abc import Iterator
from typing import NamedTuple, TypedDict

from refbus.kernel.errors import InvalidArgument, TopicClosed
from refbus.kernel.rules import limit as limits
from refbus.kernel.rules import sync as rules
from refbus.kernel.rules.sync import Send
from refbus.kernel.transaction import Transaction
from refbus.topics.message import COLUMNS, Draft, Message, Row, as_message, as_messages
from refbus.topics.route import Warned, new_id


class Lane(NamedTuple):
    """How a topic stands, and the number of its next message."""

    status: str
    next_seq: int


class Sent(TypedDict):
    """The outcome of one item of an outbox."""

    message: Message
    duplicate: bool


class Appended(NamedTuple):
    """The outcome of an outbox, and the number of the next message."""

    sent: list[Sent]
    warnings: list[Warned]  # CONTENT_MISMATCH
    next_seq: int


class Page(NamedTuple):
    """Unread messages, oldest first, whether there are more, and the cursor of a reader that takes them."""

    messages: list[Message]
    has_more: bool
    passed: int


def append(tx: Transaction, topic_id: str, sender: str, items: list[Draft], at: Lane) -> Appended:
    """Store the new items, in their order. An item whose client_message_id is known is its stored record (B6, B7).

    Errors: TOPIC_CLOSED, INVALID_ARGUMENT for a reply to nothing.
    """
    if not items:
        return Appended([], [], at.next_seq)
    return _append(tx, topic_id, sender, items, at, iter(ids_of_time(tx.now_s, len(items))))


def unread(tx: Transaction, topic_id: str, reader: str, position: int, include_self: bool, max_items: int) -> list[Row]:
    """The rows after a position, one more than asked for if there are as many."""
    asked = {"topic": topic_id, "after": position, "own": include_self, "reader": reader, "limit": max_items + 1}
    return tx.rows(_UNREAD, asked)


def page(
    tx: Transaction, topic_id: str, reader: str, position: int, include_self: bool, max_items: int, newest: int
) -> Page:
    """At most max_items unread messages."""
    rows = unread(tx, topic_id, reader, position, include_self, max_items)
    passed = rules.passed(position, [row[2] for row in rows], max_items, newest)
    return Page(as_messages(rows[:max_items]), len(rows) > max_items, passed)


def _append(tx: Transaction, topic_id: str, sender: str, items: list[Draft], at: Lane, ids: Iterator[str]) -> Appended:
    known = stored(tx, topic_id, sender, items)
    is_open, now_s, seq = at.status != "closed", tx.now_s, at.next_seq
    takes_new = rules.send(None, is_open) is Send.STORE
    sent: list[Sent] = []
    warnings: list[Warned] = []
    rows: list[Row] = []
    for place, item in enumerate(items):
        message = known.get(item.client_id)
        if message is not None:
            decision = rules.send(item.says_the_same(message), is_open)
            if decision is Send.REFUSE:
                raise _closed(topic_id)
            if decision is Send.MISMATCH:
                warnings.append(_content_mismatch(place, message))
            sent.append({"message": message, "duplicate": True})
            continue
        if not takes_new:
            raise _closed(topic_id)
        if item.reply_to is not None:
            refuse_strange_reply(tx, topic_id, item.reply_to, place)
        if seq >= limits.INT64_MAX:
            raise InvalidArgument(f"topic {topic_id!r:.80} has no number left: another program used up {seq - 1}")
        row = (
            next(ids),
            topic_id,
            seq,
            sender,
            item.type,
            item.reply_to,
            item.body,
            item.metadata_json,
            item.client_id,
            now_s,
        )
        message = as_message(row)
        rows.append(row)
        sent.append({"message": message, "duplicate": False})
        if item.client_id is not None:
            known[item.client_id] = message
        seq += 1
    if rows and not _insert(tx, rows):
        return _append(tx, topic_id, sender, items, at, iter(new_id, None))
    if rows:
        tx.execute(_SET_NEXT_SEQ, (topic_id, seq, now_s))
    return Appended(sent, warnings, seq)


def stored(tx: Transaction, topic_id: str, sender: str, items: list[Draft]) -> dict[str | None, Message]:
    """The stored messages that have an item's client_message_id, by that id."""
    by_client_id: dict[str | None, Message] = {}
    for item in items:
        if item.client_id is not None:
            rows = tx.rows(_BY_CLIENT_ID, (topic_id, sender, item.client_id))
            by_client_id.update((item.client_id, message) for message in as_messages(rows))
    return by_client_id


def refuse_strange_reply(tx: Transaction, topic_id: str, reply_to: str, place: int) -> None:
    """A reply is to a message of the same topic. Errors: INVALID_ARGUMENT."""
    if not tx.execute("SELECT 1 FROM messages WHERE message_id = ? AND topic_id = ?", (reply_to, topic_id)).fetchone():
        raise InvalidArgument(
            f"outbox[{place}].reply_to must be the message_id of a message on this topic, not {reply_to!r:.80}"
        )


def _closed(topic_id: str) -> TopicClosed:
    return TopicClosed(f"topic {topic_id!r:.80} is closed; nothing can be sent to it, only read")


def _content_mismatch(place: int, known: Message) -> Warned:
    """The same key with other content is most likely a mistake of the sender (B6)."""
    message = f"outbox[{place}] was not sent: its client_message_id belongs to a message with other content"
    context = {key: known[key] for key in ("client_message_id", "message_id", "seq")}
    return {"code": "CONTENT_MISMATCH", "message": message, "context": context}


def _insert(tx: Transaction, rows: list[Row]) -> bool:
    """All or none: False if an id is taken, which the insert itself tells."""
    try:
        # An absent cell is bound as an empty text, which nobody can send: Python takes long to bind a None.
        tx.execute(_insert_sql(len(rows)), ["" if cell is None else cell for row in rows for cell in row])
    except sqlite3.IntegrityError as error:
        if error.sqlite_errorcode != sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY:
            raise
        _, topic_id, first_seq, *_ = rows[0]
        undone = "DELETE FROM messages WHERE topic_id = ? AND seq >= ? AND typeof(seq) = 'integer'"
        tx.execute(undone, (topic_id, first_seq))
        return False
    return True


def ids_of_time(now_s: float, count: int) -> list[str]:
    """Ids that begin with the second, as version 7 of the long ones does with the millisecond.

    So messages sent together lie together in the index of ids; random ones would dirty a page of it for each message.
    """
    start = (int(now_s) % 2**24 << 16) + random.randrange(2**16 - count)
    return [f"{number:010x}" for number in range(start, start + count)]


_NULLABLE = ("reply_to", "metadata_json", "client_message_id")


@functools.cache
def _insert_sql(count: int) -> str:
    """One statement for all rows, at half the cost of one for each.

    It fails without undoing itself: for that, SQLite would have to keep the pages as they were.
    """
    row = ", ".join("nullif(?, '')" if column in _NULLABLE else "?" for column in COLUMNS)
    return f"INSERT OR FAIL INTO messages ({', '.join(COLUMNS)}) VALUES {', '.join([f'({row})'] * count)}"


_UNREAD = """
    SELECT message_id, topic_id, seq, sender, message_type, reply_to,
           content_markdown, metadata_json, client_message_id, created_at
    FROM messages
    WHERE topic_id = :topic AND seq > :after AND typeof(seq) = 'integer' AND (:own OR sender IS NOT :reader)
    ORDER BY seq LIMIT :limit
"""

_BY_CLIENT_ID = """
    SELECT message_id, topic_id, seq, sender, message_type, reply_to,
           content_markdown, metadata_json, client_message_id, created_at
    FROM messages WHERE topic_id = ? AND sender = ? AND client_message_id = ?
"""

_SET_NEXT_SEQ = """
    INSERT INTO topic_seq (topic_id, next_seq, updated_at) VALUES (?, ?, ?)
    ON CONFLICT (topic_id) DO UPDATE SET next_seq = excluded.next_seq, updated_at = excluded.updated_at
"""
