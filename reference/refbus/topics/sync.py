"""sync: send, acknowledge and receive in one transaction, and wait for what is not there yet.

The cursor is the whole delivery contract:

- auto_advance=true is at most once (B4): what is returned is consumed, even if the reply gets lost on its way.
- auto_advance=false is at least once: the cursor moves by ack_through alone, forward only and never beyond the newest
  message; those sent in the same call exist already (B5).
- With include_self=false the reader's own messages are passed as soon as nothing unread lies before them (B8).

A waiting sync holds no lock and looks without writing. Only when something has come does it take the lock, and then
receives unless its time is over by now. For a caller that went in the meantime, `give_back` undoes it (B3).
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import sqlite3
import threading
import time
from collections.abc import Iterator
from typing import Any

from refbus.kernel.db import fetch
from refbus.kernel.errors import BusError, Busy, InvalidArgument, TopicClosed
from refbus.kernel.rules import cursor
from refbus.kernel.rules import limit as limits
from refbus.topics.lease import Joining, Standing
from refbus.topics.message import COLUMNS, Draft, Row, as_message, as_messages, drafts
from refbus.topics.store import ids_of_time, new_id

ITEMS_MAX = 20
WAIT_S_MAX = 24 * 60 * 60


class Sync(Joining):
    """sync and cursor_reset."""

    def sync(
        self,
        topic_id: str,
        outbox: list[dict[str, Any]] | None = None,
        max_items: int = ITEMS_MAX,
        include_self: bool = False,
        wait_seconds: int = 60,
        auto_advance: bool = True,
        ack_through: int | None = None,
    ) -> dict[str, Any]:
        """Send the outbox and receive what is unread, oldest first; wait up to wait_seconds for a first message."""
        call = self.begin_sync(topic_id, outbox, max_items, include_self, wait_seconds, auto_advance, ack_through)
        while not call.is_done:
            rung = threading.Event()
            with self.bell.heard(rung.set, call.sees_news):
                if not call.has_news():
                    rung.wait(call.left_s)
            call.receive()
        return call.reply

    def begin_sync(
        self,
        topic_id: str,
        outbox: list[dict[str, Any]] | None = None,
        max_items: int = ITEMS_MAX,
        include_self: bool = False,
        wait_seconds: int = 60,
        auto_advance: bool = True,
        ack_through: int | None = None,
    ) -> SyncCall:
        """All of a sync but its wait. `SyncCall` lets the caller wait in its own way: in a thread, or in none."""
        agent_name = self._my_name(topic_id)
        items = drafts(outbox)
        limits.integer("max_items", max_items, 1, ITEMS_MAX)
        limits.flag("include_self", include_self)
        limits.integer("wait_seconds", wait_seconds, 0, WAIT_S_MAX)
        limits.flag("auto_advance", auto_advance)
        if ack_through is not None:
            limits.integer("ack_through", ack_through)
            if auto_advance:
                raise InvalidArgument("ack_through has a meaning only with auto_advance=false")
        call = SyncCall(self, topic_id, agent_name, max_items, include_self, wait_seconds, auto_advance)
        call.exchange(items, ack_through)
        return call

    def cursor_reset(self, topic_id: str, last_seq: int = 0) -> dict[str, Any]:
        """Set this peer's cursor, backward too: 0 replays the whole topic."""
        agent_name = self._my_name(topic_id)
        limits.integer("last_seq", last_seq)
        with self._transaction() as connection:
            newest = self._standing(connection, topic_id).next_seq - 1
            if last_seq > newest:
                raise InvalidArgument(f"last_seq {last_seq} does not exist yet: the newest is {newest}")
            now = self._now()
            connection.execute(_SET_CURSOR, (topic_id, agent_name, last_seq, now))
        return {"topic_id": topic_id, "agent_name": agent_name, "cursor": {"last_seq": last_seq, "updated_at": now}}


class SyncCall:
    """One sync, from its first transaction to its reply."""

    def __init__(
        self,
        bus: Sync,
        topic_id: str,
        agent_name: str,
        max_items: int,
        include_self: bool,
        wait_s: int,
        auto_advance: bool,
    ) -> None:
        self._bus, self._topic_id, self._agent_name = bus, topic_id, agent_name
        self._max_items, self._auto_advance = max_items, auto_advance
        self._unread = {"topic": topic_id, "agent": agent_name, "include_self": include_self, "limit": max_items + 1}
        # Waiting is on real time: a clock that stands still must not stop it.
        self._wait_s, self._deadline = wait_s, time.monotonic() + wait_s
        self._consumed: tuple[int, int] | None = None
        self.reply: dict[str, Any] = {}

    @property
    def is_done(self) -> bool:
        """Is the reply ready?"""
        return bool(self.reply["received"]) or self.is_over

    @property
    def is_over(self) -> bool:
        """Is there no time left to wait?"""
        return self.left_s <= 0 or self._bus.bell.is_closed

    @property
    def left_s(self) -> float:
        """How long it may still wait."""
        return max(0.0, self._deadline - time.monotonic())

    def has_news(self) -> bool:
        """Is there anything to receive? Looks, and changes nothing."""
        with self._not_definite_any_more(), self._bus._snapshot() as connection:
            return self.sees_news(connection)

    def sees_news(self, connection: sqlite3.Connection) -> bool:
        """The same, in a snapshot that others look at, too."""
        return connection.execute(_NEWS, self._unread).fetchone() is not None

    def exchange(self, items: list[Draft], ack_through: int | None) -> None:
        """The first transaction: send, acknowledge, receive."""
        bus = self._bus
        with bus._transaction() as connection:
            standing = bus._standing(connection, self._topic_id)
            now = bus._now()
            sent, warnings, next_seq = _send(
                connection, self._topic_id, self._agent_name, standing, items, now, iter(ids_of_time(now, len(items)))
            )
            newest = next_seq - 1
            position = before = standing.last_seq
            if ack_through is not None:
                position = before = cursor.advance(position, ack_through, newest)
            received, has_more, passed = self._read(connection, position, newest)
            if self._auto_advance:
                position = passed
            connection.execute(_SET_CURSOR, (self._topic_id, self._agent_name, position, now))
        self._consumed = (before, position)
        self.reply = {
            "topic_id": self._topic_id,
            "agent_name": self._agent_name,
            "status": "ready" if received else "timeout" if self._wait_s else "empty",
            "cursor": {"last_seq": position, "updated_at": now},
            "sent": sent,
            "received": received,
            "received_count": len(received),
            "has_more": has_more,
        }
        if warnings:
            self.reply["warnings"] = warnings

    def receive(self) -> None:
        """The second transaction, after the wait. Too late, it consumes nothing."""
        bus = self._bus
        received: list[dict[str, Any]] = []
        has_more = False
        if bus.bell.is_closed:
            return
        try:
            with self._not_definite_any_more(), bus._transaction() as connection:
                _, position, next_seq = bus._standing(connection, self._topic_id)
                before = position
                # Asked with the lock in hand: it may have been long in coming.
                if not self.is_over:
                    received, has_more, passed = self._read(connection, position, next_seq - 1)
                    position = passed if self._auto_advance else position
                now = bus._now()
                connection.execute(_SET_CURSOR, (self._topic_id, self._agent_name, position, now))
        except Busy:
            return  # nothing was consumed, and what was sent before is still worth its reply
        self._consumed = (before, position)
        self.reply["cursor"] = {"last_seq": position, "updated_at": now}
        self.reply |= {"received": received, "received_count": len(received), "has_more": has_more}
        if received:
            self.reply["status"] = "ready"

    def give_back(self) -> None:
        """Undo what the last transaction consumed, for a caller that went before it could have the reply.

        Also where the name was taken over since (B10): the caller who came back is who misses these messages.
        """
        if self._consumed is None or self._consumed[0] == self._consumed[1]:
            return
        before, after = self._consumed
        with self._bus._transaction() as connection:
            connection.execute(_GIVE_BACK, (before, self._topic_id, self._agent_name, after))
        self._consumed = None

    @contextlib.contextmanager
    def _not_definite_any_more(self) -> Iterator[None]:
        """What fails after the first transaction has not undone what that one sent."""
        try:
            yield
        except BusError as error:
            error.definite = error.definite and not self.reply["sent"]
            raise

    def _read(self, connection: sqlite3.Connection, after: int, newest: int) -> tuple[list[dict[str, Any]], bool, int]:
        """What is unread, whether there is more, and the seq up to which nothing unread remains."""
        rows = fetch(connection, _UNREAD, self._unread | {"after": after})
        has_more = len(rows) > self._max_items
        messages = as_messages(rows[: self._max_items])
        return messages, has_more, max(after, rows[-1][2] - 1 if has_more else newest)


def _send(
    connection: sqlite3.Connection,
    topic_id: str,
    sender: str,
    standing: Standing,
    items: list[Draft],
    now: float,
    ids: Iterator[str],
) -> tuple[list[dict[str, Any]], list[dict[str, Any]], int]:
    """Insert what is new: what was sent, warnings, and the number that comes next.

    An item whose client_message_id is known is its stored record, closed topic or not (B7).
    """
    known = _stored(connection, topic_id, sender, items)
    sent, warnings, rows = [], [], []
    status, _, seq = standing
    for at, item in enumerate(items):
        if (message := known.get(item.client_id)) is not None:
            sent.append({"message": message, "duplicate": True})
            if not item.says_the_same(message):
                warnings.append(_content_mismatch(at, message))
            continue
        if status == "closed":
            raise TopicClosed(f"topic {topic_id!r:.80} is closed; nothing can be sent to it, only read")
        if item.reply_to is not None:
            _refuse_strange_reply(connection, topic_id, item.reply_to, at)
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
            now,
        )
        message = as_message(row)
        rows.append(row)
        sent.append({"message": message, "duplicate": False})
        if item.client_id is not None:
            known[item.client_id] = message
        seq += 1
    if rows and not _insert(connection, rows):
        return _send(connection, topic_id, sender, standing, items, now, iter(new_id, None))
    if rows:
        connection.execute(_SET_NEXT_SEQ, (topic_id, seq, now))
    return sent, warnings, seq


def _stored(
    connection: sqlite3.Connection, topic_id: str, sender: str, items: list[Draft]
) -> dict[str | None, dict[str, Any]]:
    """The messages that have the client_message_id of an item already, by it."""
    found: dict[str | None, dict[str, Any]] = {}
    for item in items:
        if item.client_id is not None:
            rows = fetch(connection, _BY_CLIENT_ID, (topic_id, sender, item.client_id))
            found.update((item.client_id, message) for message in as_messages(rows))
    return found


def _content_mismatch(at: int, known: dict[str, Any]) -> dict[str, Any]:
    """The same key with other content is most likely a mistake of the sender (B6)."""
    said = f"outbox[{at}] was not sent: its client_message_id belongs to a message with other content"
    context = {key: known[key] for key in ("client_message_id", "message_id", "seq")}
    return {"code": "CONTENT_MISMATCH", "message": said, "context": context}


def _refuse_strange_reply(connection: sqlite3.Connection, topic_id: str, reply_to: str, at: int) -> None:
    sql = "SELECT 1 FROM messages WHERE message_id = ? AND topic_id = ?"
    if not connection.execute(sql, (reply_to, topic_id)).fetchone():
        raise InvalidArgument(
            f"outbox[{at}].reply_to must be the message_id of a message on this topic, not {reply_to!r:.80}"
        )


def _insert(connection: sqlite3.Connection, rows: list[Row]) -> bool:
    """All or none: False if an id is taken, which the insert itself tells."""
    try:
        connection.execute(_insert_sql(len(rows)), ["" if cell is None else cell for row in rows for cell in row])
    except sqlite3.IntegrityError as error:
        if error.sqlite_errorcode != sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY:
            raise
        _, topic_id, first_seq, *_ = rows[0]
        connection.execute("DELETE FROM messages WHERE topic_id = ? AND seq >= ?", (topic_id, first_seq))
        return False
    return True


@functools.cache
def _insert_sql(count: int) -> str:
    """One statement for all rows, which costs half of one for each.

    It fails without undoing itself, for which SQLite would have to keep the pages as they were. And a cell that is
    absent is an empty text, which nobody can send: Python takes longer to bind a None than SQLite to make it of that.
    """
    numbers = itertools.count(1)
    rows = [f"({', '.join(_value(column, next(numbers)) for column in COLUMNS)})" for _ in range(count)]
    return f"INSERT OR FAIL INTO messages ({', '.join(COLUMNS)}) VALUES {', '.join(rows)}"


def _value(column: str, number: int) -> str:
    if column in ("reply_to", "metadata_json", "client_message_id"):
        return f"CASE ?{number} WHEN '' THEN NULL ELSE ?{number} END"
    return f"?{number}"


_UNREAD = """
    SELECT message_id, topic_id, seq, sender, message_type, reply_to,
           content_markdown, metadata_json, client_message_id, created_at
    FROM messages
    WHERE topic_id = :topic AND seq > :after AND (:include_self OR sender <> :agent)
    ORDER BY seq LIMIT :limit
"""

_BY_CLIENT_ID = """
    SELECT message_id, topic_id, seq, sender, message_type, reply_to,
           content_markdown, metadata_json, client_message_id, created_at
    FROM messages WHERE topic_id = ? AND sender = ? AND client_message_id = ?
"""

_NEWS = """
    SELECT 1 FROM messages
    WHERE topic_id = :topic AND (:include_self OR sender <> :agent) AND seq > coalesce(
        (SELECT last_seq FROM cursors WHERE topic_id = :topic AND agent_name = :agent), 0)
    LIMIT 1
"""

_SET_NEXT_SEQ = """
    INSERT INTO topic_seq (topic_id, next_seq, updated_at) VALUES (?, ?, ?)
    ON CONFLICT (topic_id) DO UPDATE SET next_seq = excluded.next_seq, updated_at = excluded.updated_at
"""

_SET_CURSOR = """
    INSERT INTO cursors (topic_id, agent_name, last_seq, updated_at) VALUES (?, ?, ?, ?)
    ON CONFLICT (topic_id, agent_name) DO UPDATE SET last_seq = excluded.last_seq, updated_at = excluded.updated_at
"""

_GIVE_BACK = "UPDATE cursors SET last_seq = ? WHERE topic_id = ? AND agent_name = ? AND last_seq = ?"
