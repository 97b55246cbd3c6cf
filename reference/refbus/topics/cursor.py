"""sync: send, acknowledge and receive in one transaction, and wait for messages that are not there yet.

The cursor is the whole delivery contract:

- auto_advance=true is at most once (B4): returned messages are consumed, even if the reply gets lost on its way.
- auto_advance=false is at least once: the cursor moves by ack_through alone, forward only and never beyond the newest
  message; those sent in the same call exist already (B5).
- With include_self=false the reader's own messages are passed as soon as nothing unread lies before them (B8).

A waiting sync holds no lock and looks without writing. Only when something has come does it take the lock, and then
receives unless its time is over by now. For a caller that has gone in the meantime, `give_back` undoes it (B3).

A sync belongs to the name under which it was called: a session that joins under another one while its sync waits
changes neither what that sync receives nor whose cursor it moves.
"""

from __future__ import annotations

import contextlib
import threading
import time
from typing import Any, NamedTuple, NotRequired, TypedDict

from refbus.kernel.errors import Busy, InvalidArgument, after_a_part
from refbus.kernel.rules import cursor as rule
from refbus.kernel.rules import limit as limits
from refbus.kernel.rules import sync as sync_rule
from refbus.kernel.rules.sync import Claim
from refbus.kernel.store import Store
from refbus.kernel.transaction import Transaction
from refbus.topics import log
from refbus.topics.lease import Identity, Lease
from refbus.topics.log import Lane, Page, Sent
from refbus.topics.message import Draft, Message, drafts
from refbus.topics.notifier import Notifier
from refbus.topics.route import Warned, no_topic

ITEMS_MAX = 20
WAIT_S_MAX = 24 * 60 * 60


class Position(TypedDict):
    """How far a reader has read, and when it synced last."""

    last_seq: int
    updated_at: float  # Unix seconds


class Reset(TypedDict):
    """The reply of cursor_reset."""

    topic_id: str
    agent_name: str
    cursor: Position


class Synced(TypedDict):
    """The reply of sync. `status` is ready (messages came), timeout (none in time) or empty (none, and no wait)."""

    topic_id: str
    agent_name: str
    status: str
    cursor: Position
    sent: list[Sent]
    received: list[Message]
    received_count: int
    has_more: bool
    warnings: NotRequired[list[Warned]]  # CONTENT_MISMATCH


class Terms(NamedTuple):
    """How a sync receives."""

    max_items: int
    include_self: bool
    wait_s: int
    auto_advance: bool


class Standing(NamedTuple):
    """The start of a reader's transaction. One statement reads it: three would cost a short sync a tenth."""

    lane: Lane
    position: int  # everything up to this seq is consumed; 0 for a reader that has never synced
    claim: Claim | None  # the latest one of the reader's name


class Cursor:
    """sync and cursor_reset."""

    def __init__(self, store: Store, notifier: Notifier, lease: Lease) -> None:
        self.store, self.notifier, self.lease = store, notifier, lease

    def sync(
        self,
        topic_id: str,
        outbox: list[dict[str, Any]] | None = None,
        max_items: int = ITEMS_MAX,
        include_self: bool = False,
        wait_seconds: int = 60,
        auto_advance: bool = True,
        ack_through: int | None = None,
    ) -> Synced:
        """Send the outbox and receive what is unread, oldest first; wait up to wait_seconds for a first message.

        Errors: those of begin_sync; after a wait without `definite` if anything was sent.
        """
        call = self.begin_sync(topic_id, outbox, max_items, include_self, wait_seconds, auto_advance, ack_through)
        while not call.is_done:
            woken = threading.Event()
            with self.notifier.subscribed(woken.set, call.sees_news):
                if not call.has_news():
                    woken.wait(call.left_s)
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
        """All of a sync but its wait. `SyncCall` lets the caller wait in its own way: in a thread, or in none.

        Errors: INVALID_ARGUMENT, AGENT_NOT_JOINED, TOPIC_NOT_FOUND, TOPIC_CLOSED for an outbox that holds anything new.
        """
        me = self.lease.identity(topic_id)
        items = drafts(outbox)
        limits.integer("max_items", max_items, 1, ITEMS_MAX)
        limits.flag("include_self", include_self)
        limits.integer("wait_seconds", wait_seconds, 0, WAIT_S_MAX)
        limits.flag("auto_advance", auto_advance)
        if ack_through is not None:
            limits.integer("ack_through", ack_through)
            if auto_advance:
                raise InvalidArgument("ack_through has a meaning only with auto_advance=false")
        call = SyncCall(self, me, Terms(max_items, include_self, wait_seconds, auto_advance))
        call.exchange(items, ack_through)
        return call

    def cursor_reset(self, topic_id: str, last_seq: int = 0) -> Reset:
        """Set this peer's cursor, backward too: 0 replays the whole topic.

        Errors: INVALID_ARGUMENT, AGENT_NOT_JOINED, TOPIC_NOT_FOUND.
        """
        me = self.lease.identity(topic_id)
        limits.integer("last_seq", last_seq)
        with self.store.transaction() as tx:
            newest = self.standing(tx, me).lane.next_seq - 1
            if last_seq > newest:
                raise InvalidArgument(f"last_seq {last_seq} does not exist yet: the newest is {newest}")
            move(tx, me, last_seq)
        return {
            "topic_id": topic_id,
            "agent_name": me.agent_name,
            "cursor": {"last_seq": last_seq, "updated_at": tx.now_s},
        }

    def standing(self, tx: Transaction, me: Identity) -> Standing:
        """Where a session stands on its topic. Errors: TOPIC_NOT_FOUND; AGENT_NOT_JOINED if it was taken over."""
        my_standing = standing(tx, me)
        self.lease.check(me, my_standing.claim)
        return my_standing


class SyncCall:
    """One sync, from its first transaction to its reply."""

    reply: Synced

    def __init__(self, cursor: Cursor, me: Identity, terms: Terms) -> None:
        self.cursor, self.me, self.terms = cursor, me, terms
        # Waiting is on real time: a clock that stands still must not stop it.
        self.deadline = time.monotonic() + terms.wait_s
        self.consumed: tuple[int, int] | None = None  # where the cursor stood, and where it stands

    @property
    def is_done(self) -> bool:
        """Is the reply ready?"""
        return bool(self.reply["received"]) or self.is_over

    @property
    def is_over(self) -> bool:
        """Is there no time left to wait?"""
        return self.left_s <= 0 or self.cursor.notifier.is_closed

    @property
    def left_s(self) -> float:
        """How long it may still wait."""
        return max(0.0, self.deadline - time.monotonic())

    def has_news(self) -> bool:
        """Is there anything to receive? Looks, and changes nothing."""
        with self._after_sending(), self.cursor.store.snapshot() as tx:
            self.cursor.store.db.refuse_another_file()  # nobody writes there any more
            return self.sees_news(tx)

    def sees_news(self, tx: Transaction) -> bool:
        """The same, in a snapshot that others look at, too."""
        return has_news(tx, self.me, self.terms.include_self)

    def exchange(self, items: list[Draft], ack_through: int | None) -> None:
        """The first transaction: send, acknowledge, receive. Errors: those of begin_sync."""
        topic_id, name, _ = self.me
        with self.cursor.store.transaction() as tx:
            lane, before, _ = self.cursor.standing(tx, self.me)
            sent, warnings, next_seq = log.append(tx, topic_id, name, items, lane)
            if ack_through is not None:
                before = rule.advance(before, ack_through, next_seq - 1)
            page = self._page(tx, before, next_seq - 1)
            after = self._move(tx, before, page)
        self.consumed = (before, after)
        self.reply = {
            "topic_id": topic_id,
            "agent_name": name,
            "status": "ready" if page.messages else "timeout" if self.terms.wait_s else "empty",
            "cursor": {"last_seq": after, "updated_at": tx.now_s},
            "sent": sent,
            "received": page.messages,
            "received_count": len(page.messages),
            "has_more": page.has_more,
        }
        if warnings:
            self.reply["warnings"] = warnings

    def receive(self) -> None:
        """The second transaction, after the wait. Too late, it consumes nothing.

        Errors: AGENT_NOT_JOINED, TOPIC_NOT_FOUND; without `definite` if the first transaction sent anything.
        """
        if self.cursor.notifier.is_closed:
            return
        try:
            with self._after_sending(), self.cursor.store.transaction() as tx:
                lane, before, _ = self.cursor.standing(tx, self.me)
                page = self._page(tx, before, lane.next_seq - 1)
                if page.messages and self.is_over:  # asked with the lock in hand: it may have been long in coming
                    page = Page([], False, before)
                after = self._move(tx, before, page)
        except Busy:
            return  # nothing was consumed, and the messages sent before are still worth a reply
        self.consumed = (before, after)
        self.reply["cursor"] = {"last_seq": after, "updated_at": tx.now_s}
        self.reply["received"], self.reply["received_count"] = page.messages, len(page.messages)
        self.reply["has_more"] = page.has_more
        if page.messages:
            self.reply["status"] = "ready"

    def give_back(self) -> None:
        """Undo what the last transaction consumed, for a caller that went before it could have the reply.

        Also if the name was taken over since (B10): the caller that came back misses these messages.
        """
        if self.consumed is None or self.consumed[0] == self.consumed[1]:
            return
        before, after = self.consumed
        with self.cursor.store.transaction() as tx:
            tx.execute(_GIVE_BACK, (before, self.me.topic_id, self.me.agent_name, after))
        self.consumed = None

    def _page(self, tx: Transaction, before: int, newest: int) -> Page:
        topic_id, name, _ = self.me
        return log.page(tx, topic_id, name, before, self.terms.include_self, self.terms.max_items, newest)

    def _move(self, tx: Transaction, before: int, page: Page) -> int:
        """Consume the page if it is to be consumed; a reader that consumes nothing is present, too."""
        after = page.passed if self.terms.auto_advance else before
        move(tx, self.me, after)
        return after

    def _after_sending(self) -> contextlib.AbstractContextManager[None]:
        """An error after the first transaction has not undone what that one sent."""
        return after_a_part(lambda: self.reply["sent"])


def standing(tx: Transaction, reader: Identity) -> Standing:
    """Where a reader stands on its topic. Errors: TOPIC_NOT_FOUND."""
    row = tx.execute(_STANDING, {"topic": reader.topic_id, "reader": reader.agent_name}).fetchone()
    if row is None:
        raise no_topic(reader.topic_id)
    status, counter, newest, position, *claim = row
    lane = Lane(status, sync_rule.next_seq(counter, newest))
    return Standing(lane, position, None if claim[0] is None else Claim(*claim))


def has_news(tx: Transaction, reader: Identity, include_self: bool) -> bool:
    """Is anything unread?"""
    asked = {"topic": reader.topic_id, "reader": reader.agent_name, "own": include_self}
    return tx.execute(_NEWS, asked).fetchone() is not None


def move(tx: Transaction, reader: Identity, last_seq: int) -> None:
    """Set the cursor, and say that the reader is present."""
    tx.execute(_SET_CURSOR, (reader.topic_id, reader.agent_name, last_seq, tx.now_s))


_STANDING = """
    SELECT status, (SELECT next_seq FROM topic_seq WHERE topic_id = :topic AND typeof(next_seq) = 'integer'),
           coalesce((SELECT seq FROM messages WHERE topic_id = :topic AND typeof(seq) = 'integer'
                     ORDER BY seq DESC LIMIT 1), 0),
           coalesce(last_seq, 0), reclaim_token, coalesce(fence, 0), last_claimed_at
    FROM topics
    LEFT JOIN cursors ON cursors.topic_id = :topic AND cursors.agent_name = :reader
                         AND typeof(last_seq) = 'integer'
    LEFT JOIN agent_name_reservations AS name ON name.topic_id = :topic AND name.agent_name = :reader
    LEFT JOIN reservation_fences AS fences ON fences.topic_id = :topic AND fences.agent_name = :reader
    WHERE topics.topic_id = :topic
"""

_NEWS = """
    SELECT 1 FROM messages
    WHERE topic_id = :topic AND (:own OR sender IS NOT :reader) AND typeof(seq) = 'integer' AND seq > coalesce(
        (SELECT last_seq FROM cursors
         WHERE topic_id = :topic AND agent_name = :reader AND typeof(last_seq) = 'integer'), 0)
    LIMIT 1
"""

_SET_CURSOR = """
    INSERT INTO cursors (topic_id, agent_name, last_seq, updated_at) VALUES (?, ?, ?, ?)
    ON CONFLICT (topic_id, agent_name) DO UPDATE SET last_seq = excluded.last_seq, updated_at = excluded.updated_at
"""

_GIVE_BACK = "UPDATE cursors SET last_seq = ? WHERE topic_id = ? AND agent_name = ? AND last_seq = ?"
