"""Faults of topics, cursor."""

import asyncio
import contextlib
import math
import time
from collections.abc import Sequence
from functools import partial
from typing import Any

from plant import fault, patch, reword

from refbus.kernel.errors import InvalidArgument, TopicClosed
from refbus.kernel.rules import cursor as rule
from refbus.kernel.rules import sync as rules
from refbus.kernel.transaction import Transaction
from refbus.topics import cursor, log
from refbus.topics.bus import TopicsBus
from refbus.topics.cursor import SyncCall
from refbus.topics.mcp.server import Session
from refbus.topics.message import Draft
from refbus.topics.notifier import Notifier

CONTROL = "cursor.own"


@fault("topics.cursor.06")
def a_full_page_has_more():
    """has_more says whether the page is full."""
    page = log.page

    def full(*args: Any) -> log.Page:
        full_page = page(*args)
        return full_page._replace(has_more=len(full_page.messages) == args[5])

    patch(log, page=full)


@fault("topics.cursor.30", "topics.cursor.31")
def a_wait_blocks_the_server():
    """A waiting sync blocks the event loop of its server."""

    async def sync(self: Session, arguments: dict[str, Any], _request: Any) -> Any:
        return self.bus.sync(**arguments)

    patch(Session, sync=sync)


@fault("topics.cursor.16", "topics.cursor.17", "topics.cursor.18", item="corpus:83003+refused_and_sent_again")
def acks_are_clamped():
    """An ack of a seq that does not exist is taken for the nearest that does."""
    from refbus.kernel.rules import cursor

    def nearest(current: int, asked: int, newest: int) -> int:
        return max(current, min(asked, newest))

    class Faulty(TopicsBus):
        def begin_sync(self, *args: Any, **kwargs: Any) -> SyncCall:
            if "ack_through" in kwargs:
                kwargs["ack_through"] = max(0, kwargs["ack_through"])
            return super().begin_sync(*args, **kwargs)

    patch(cursor, advance=nearest)
    return Faulty


@fault("topics.cursor.15", "topics.cursor.20")
class AcksAreIgnored(TopicsBus):
    """ack_through does nothing."""

    def begin_sync(self, *args: Any, **kwargs: Any) -> SyncCall:
        kwargs.pop("ack_through", None)
        return super().begin_sync(*args, **kwargs)


@fault("topics.cursor.20")
def acks_come_before_sends():
    """An ack may not cover messages that the same call sends."""
    from refbus.kernel.rules import cursor

    newest_before: list[int] = []
    append, advance = log.append, cursor.advance

    def append_after(tx: Any, topic_id: str, sender: str, items: list[Any], at: log.Lane) -> log.Appended:
        newest_before[:] = [at.next_seq - 1]
        return append(tx, topic_id, sender, items, at)

    patch(log, append=append_after)
    patch(cursor, advance=lambda current, asked, newest: advance(current, asked, newest_before[0]))


@fault("topics.cursor.19", item="corpus:each_with_each")
def acks_go_back():
    """A backward ack moves the cursor back."""
    from refbus.kernel.rules import cursor

    def advance(current: int, asked: int, newest: int) -> int:
        if asked > newest:
            raise InvalidArgument(f"{asked} does not exist")
        return asked

    patch(cursor, advance=advance)


@fault("topics.cursor.21", item="corpus:a_thousand_of_ones_own")
class AcksGoWithAutoAdvance(TopicsBus):
    """An ack_through beside auto_advance=true is passed over in silence."""

    def begin_sync(self, *args: Any, **kwargs: Any) -> SyncCall:
        if kwargs.get("auto_advance", True):
            kwargs.pop("ack_through", None)
        return super().begin_sync(*args, **kwargs)


@fault("topics.cursor.29")
def any_message_ends_a_wait():
    """A wait ends with any message in the file, whether it is for the reader or not."""

    class Call(SyncCall):
        seen: int | None = None
        is_woken = False

        @property
        def is_done(self) -> bool:
            return self.is_woken or super().is_done

        def sees_news(self, tx: Transaction) -> bool:
            (count,) = tx.execute("SELECT count(*) FROM messages").fetchone()
            self.is_woken = self.is_woken or self.seen not in (None, count)
            self.seen = count
            return self.is_woken or super().sees_news(tx)

    patch(cursor, SyncCall=Call)


@fault("topics.cursor.12", control="cursor.own")
class AutoAdvanceMustBeAskedFor(TopicsBus):
    """By default the cursor does not advance."""

    def begin_sync(self, *args: Any, **kwargs: Any) -> SyncCall:
        kwargs.setdefault("auto_advance", False)
        return super().begin_sync(*args, **kwargs)


@fault("topics.cursor.32", "topics.cursor.35", dies_of="ended before")
def cancelled_waits_go_on():
    """A wait goes on in its thread when its caller has gone, and consumes the messages that come."""

    async def sync(self: Session, arguments: dict[str, Any], _request: Any) -> Any:
        return await self.threads.run(partial(self.bus.sync, **arguments))

    patch(Session, sync=sync)


@fault("topics.cursor.48", control="log.ids", chaos={"points": True, "only": "sync that receives"})
class ConsumesInTwoSteps(TopicsBus):
    """The cursor passes the first message in one transaction, the others in the next."""

    # A kill between the two consumes one of the messages that nobody saw.

    def begin_sync(
        self,
        topic_id: str,
        outbox: Any = None,
        max_items: int = 20,
        include_self: bool = False,
        wait_seconds: int = 60,
        auto_advance: bool = True,
        ack_through: int | None = None,
    ) -> SyncCall:
        if auto_advance and max_items > 1:
            super().begin_sync(topic_id, None, 1, include_self, 0)
        return super().begin_sync(topic_id, outbox, max_items, include_self, wait_seconds, auto_advance, ack_through)


@fault("topics.cursor.49", chaos={"ways": ("cancelled",)})
def consumes_what_was_cancelled():
    """The messages that a sync received for a caller that went are consumed, and never seen by anybody (B3)."""

    def give_back(_call: cursor.SyncCall) -> None:
        """Nothing."""

    patch(cursor.SyncCall, give_back=give_back)


@fault("topics.cursor.49", chaos={"ways": ("cancelled",)})
def gives_back_over_a_successor():
    """What a cancelled sync consumed is given back though another session of its agent has gone on since (B10)."""

    def give_back(call: cursor.SyncCall) -> None:
        """Wherever the cursor stands by now."""
        if call.consumed is None or call.consumed[0] == call.consumed[1]:
            return
        before, _ = call.consumed
        back = "UPDATE cursors SET last_seq = ? WHERE topic_id = ? AND agent_name = ?"
        with call.cursor.store.transaction() as tx:
            tx.execute(back, (before, call.me.topic_id, call.me.agent_name))
        call.consumed = None

    patch(cursor.SyncCall, give_back=give_back)


@fault("topics.cursor.49", chaos={"ways": ("disconnected",)})
class GivesBackWhatWasReturned(TopicsBus):
    """When its client closes the connection, the server gives back the last sync, answered or not."""

    # Remembers the last call until the end.
    _last: SyncCall | None = None

    def begin_sync(self, *args: object, **how: object) -> SyncCall:
        self._last = super().begin_sync(*args, **how)
        return self._last

    def close(self) -> None:
        if self._last is not None:
            self._last.give_back()
        super().close()


@fault("topics.cursor.03", control="cursor.own", item="corpus:waits_after_sending")
def in_order_of_time():
    """Messages are received in the order of their times, not of their numbers."""
    reword(log, "_UNREAD", "ORDER BY seq", "ORDER BY created_at")


@fault("topics.cursor.37", "topics.cursor.38")
def joins_begin_anew():
    """A join sets the cursor to 0, also that of a name that is reclaimed."""
    REWIND = "UPDATE cursors SET last_seq = 0 WHERE topic_id = ? AND agent_name = ?"

    class Faulty(TopicsBus):
        def topic_join(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
            reply = super().topic_join(*args, **kwargs)
            with self.store.transaction() as tx:
                tx.execute(REWIND, (reply["topic_id"], reply["agent_name"]))
            return reply

    return Faulty


@fault("topics.cursor.33")
class KeysOfMessagesAreNotKept(TopicsBus):
    """A client_message_id is not kept."""

    def begin_sync(self, *args: Any, **kwargs: Any) -> SyncCall:
        kwargs["outbox"] = [item | {"client_message_id": None} for item in kwargs.get("outbox", ())]
        return super().begin_sync(*args, **kwargs)


@fault("topics.cursor.34")
def late_is_in_time():
    """After a wait for the lock the server does not check whether the time is over."""

    class Call(cursor.SyncCall):
        def receive(self) -> None:
            deadline, self.deadline = self.deadline, math.inf
            super().receive()
            self.deadline = deadline

    patch(cursor, SyncCall=Call)


@fault("topics.cursor.55", chaos={"waits": True})
def looks_before_it_listens():
    """A sync looks for news, and listens for more only where there is none: nobody tells it of messages in between."""

    async def wait_for_news(self: Session, call: Any, request: Any) -> None:
        request.woken.clear()
        if await self.threads.run(call.has_news):
            return
        wake = partial(asyncio.get_running_loop().call_soon_threadsafe, request.woken.set)
        with self.bus.notifier.subscribed(wake, call.sees_news), contextlib.suppress(TimeoutError):
            await asyncio.wait_for(request.woken.wait(), call.left_s)

    def watch(self: Notifier) -> None:
        with self._store.waiters.borrow() as waiter:
            seen = self._store.version()
            while self._has_subscribers():
                if (present := self._store.version()) != seen:
                    seen = present
                    for subscriber in self._with_news():
                        subscriber.wake()
                waiter.wait(1.0)

    patch(Session, _wait_for_news=wait_for_news)
    patch(Notifier, _watch=watch)


@fault("topics.cursor.05")
class MaxItemsIsIgnored(TopicsBus):
    """A sync returns twenty messages, however few were asked for."""

    def begin_sync(self, *args: Any, **kwargs: Any) -> SyncCall:
        kwargs["max_items"] = 20
        return super().begin_sync(*args, **kwargs)


@fault("topics.cursor.50", chaos={"kills": 8})
def moves_cursors_late():
    """A cursor is answered, and stored by the next call. A kill between the two delivers again."""
    MOVE = "UPDATE cursors SET last_seq = ? WHERE topic_id = ? AND agent_name = ?"

    class MovesCursorsLate(TopicsBus):
        """Keeps one cursor in mind."""

        _late: tuple[object, ...] | None = None

        def begin_sync(self, topic_id: str, *args: object, **how: object) -> SyncCall:
            me = (topic_id, self.lease.identity(topic_id).agent_name)
            with self.store.transaction() as tx:
                if self._late is not None:
                    tx.execute(MOVE, self._late)
                stored = tx.execute("SELECT last_seq FROM cursors WHERE topic_id = ? AND agent_name = ?", me).fetchone()
            call = super().begin_sync(topic_id, *args, **how)
            self._late = None
            if call.reply["received"] and stored is not None:
                self._late = (call.reply["cursor"]["last_seq"], *me)
                with self.store.transaction() as tx:
                    tx.execute(MOVE, (*stored, *me))
            return call

    return MovesCursorsLate


@fault("topics.cursor.25", "topics.cursor.26", "topics.cursor.27", "topics.cursor.28", "topics.cursor.29")
class NobodyWaits(TopicsBus):
    """A sync never waits."""

    def begin_sync(self, *args: Any, **kwargs: Any) -> SyncCall:
        kwargs["wait_seconds"] = 0
        return super().begin_sync(*args, **kwargs)


@fault("topics.cursor.54", item="corpus:more_after_a_wait")
def nothing_more_after_a_wait():
    """A sync that had to wait says that nothing more is unread, even if something is."""

    class Call(cursor.SyncCall):
        def receive(self) -> None:
            super().receive()
            self.reply["has_more"] = False

    patch(cursor, SyncCall=Call)


@fault("topics.cursor.01", control="log.ids")
def one_cursor_for_all():
    """The cursor is the topic's, and all its agents share it."""
    standing = cursor.standing

    def of_all(tx: Any, reader: Any) -> cursor.Standing:
        sql = "SELECT coalesce(max(last_seq), 0) FROM cursors WHERE topic_id = ?"
        (position,) = tx.execute(sql, (reader.topic_id,)).fetchone()
        return standing(tx, reader)._replace(position=position)

    patch(cursor, standing=of_all)


@fault("topics.cursor.28")
def only_this_process_is_heard():
    """A wait is woken by messages of its own process alone."""

    class Call(SyncCall):
        sends = 0

        def exchange(self, items: list[Draft], ack_through: int | None) -> None:
            super().exchange(items, ack_through)
            Call.sends += len(items)
            self.seen = Call.sends

        def sees_news(self, tx: Transaction) -> bool:
            return Call.sends > self.seen and super().sees_news(tx)

    patch(cursor, SyncCall=Call)


@fault("topics.cursor.18", item="corpus:refused_and_sent_again")
def outbox_survives_a_bad_ack():
    """The outbox is sent, though the ack beside it is refused."""
    refused: list[InvalidArgument] = []
    advance, move = rule.advance, cursor.move

    def advance_later(current: int, asked: int, newest: int) -> int:
        try:
            return advance(current, asked, newest)
        except InvalidArgument as error:
            refused.append(error)
            return current

    class Faulty(TopicsBus):
        def begin_sync(self, *args: Any, **kwargs: Any) -> SyncCall:
            refused.clear()
            call = super().begin_sync(*args, **kwargs)
            if refused:
                raise refused.pop()
            return call

    patch(rule, advance=advance_later)
    patch(cursor, move=lambda *args: None if refused else move(*args))
    return Faulty


@fault("topics.cursor.07")
class OwnMessagesByDefault(TopicsBus):
    """By default a sync also returns the reader's own messages."""

    def begin_sync(self, *args: Any, **kwargs: Any) -> SyncCall:
        kwargs.setdefault("include_self", True)
        return super().begin_sync(*args, **kwargs)


@fault("topics.cursor.08")
class OwnMessagesNever(TopicsBus):
    """include_self is ignored."""

    def begin_sync(self, *args: Any, **kwargs: Any) -> SyncCall:
        kwargs["include_self"] = False
        return super().begin_sync(*args, **kwargs)


@fault("topics.cursor.09")
def own_messages_stop_the_cursor():
    """The cursor stays before the reader's own messages until others follow."""

    def passed(position: int, unread: Sequence[int], max_items: int, _newest: int) -> int:
        return unread[:max_items][-1] if unread else position

    patch(rules, passed=passed)


@fault("topics.cursor.02", control="log.ping")
def readers_begin_with_what_is_new():
    """A new reader begins after the newest message."""
    BEGIN = """
    INSERT OR IGNORE INTO cursors
    SELECT ?, ?, coalesce(max(seq), 0), 0 FROM messages WHERE topic_id = ?
"""

    class Faulty(TopicsBus):
        def topic_join(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
            reply = super().topic_join(*args, **kwargs)
            with self.store.transaction() as tx:
                tx.execute(BEGIN, (reply["topic_id"], reply["agent_name"], reply["topic_id"]))
            return reply

    return Faulty


@fault("topics.cursor.22", "topics.cursor.39", item="corpus:all_that_one_sync_takes+searches_at_once")
def replies_tell_the_old_cursor():
    """The reply tells where the reader stood before the call."""

    class Call(cursor.SyncCall):
        def exchange(self, items: list[Draft], ack_through: int | None) -> None:
            super().exchange(items, ack_through)
            self.reply["cursor"]["last_seq"] = self.consumed[0]

    patch(cursor, SyncCall=Call)


@fault("topics.cursor.44", "topics.cursor.45")
class ResetsAreClamped(TopicsBus):
    """A cursor_reset to a seq that does not exist goes to the nearest that does."""

    def cursor_reset(self, topic_id: str, last_seq: int = 0) -> dict[str, Any]:
        sql = "SELECT coalesce(max(seq), 0) FROM messages WHERE topic_id = ?"
        with self.store.snapshot() as tx:
            (newest,) = tx.execute(sql, (topic_id,)).fetchone()
        return super().cursor_reset(topic_id, max(0, min(last_seq, newest)))


@fault("topics.cursor.40", "topics.cursor.41", "topics.cursor.42")
def resets_go_forward():
    """cursor_reset never goes back."""
    _AT = "SELECT coalesce(max(last_seq), 0) FROM cursors WHERE topic_id = ? AND agent_name = ?"

    class Faulty(TopicsBus):
        def cursor_reset(self, topic_id: str, last_seq: int = 0) -> dict[str, Any]:
            key = (topic_id, self.lease.identity(topic_id).agent_name)
            with self.store.snapshot() as tx:
                (at,) = tx.execute(_AT, key).fetchone()
            return super().cursor_reset(topic_id, max(at, last_seq))

    return Faulty


@fault("topics.cursor.41")
class ResetsGoToTheEnd(TopicsBus):
    """By default cursor_reset goes to the newest message, and nothing is replayed."""

    def cursor_reset(self, topic_id: str, last_seq: int | None = None) -> dict[str, Any]:
        sql = "SELECT coalesce(max(seq), 0) FROM messages WHERE topic_id = ?"
        with self.store.snapshot() as tx:
            (newest,) = tx.execute(sql, (topic_id,)).fetchone()
        return super().cursor_reset(topic_id, newest if last_seq is None else last_seq)


@fault("topics.cursor.43")
class ResetsMoveEverybody(TopicsBus):
    """cursor_reset moves the cursors of all agents of the topic."""

    def cursor_reset(self, topic_id: str, last_seq: int = 0) -> dict[str, Any]:
        reply = super().cursor_reset(topic_id, last_seq)
        with self.store.transaction() as tx:
            tx.execute("UPDATE cursors SET last_seq = ? WHERE topic_id = ?", (last_seq, topic_id))
        return reply


@fault("topics.cursor.46")
class StrangersResetNothing(TopicsBus):
    """cursor_reset by an agent that has not joined is no error."""

    def cursor_reset(self, topic_id: str, last_seq: int = 0) -> dict[str, Any]:
        if topic_id not in self.lease.joined:
            cursor = {"last_seq": last_seq, "updated_at": self.store.clock.now_us() / 1_000_000}
            return {"topic_id": topic_id, "agent_name": "?", "cursor": cursor}
        return super().cursor_reset(topic_id, last_seq)


@fault("topics.cursor.04")
class TenMessagesByDefault(TopicsBus):
    """By default a sync returns at most ten messages."""

    def begin_sync(self, *args: Any, **kwargs: Any) -> SyncCall:
        kwargs.setdefault("max_items", 10)
        return super().begin_sync(*args, **kwargs)


@fault("topics.cursor.14", "topics.cursor.36")
class TheCursorAlwaysAdvances(TopicsBus):
    """auto_advance=false is ignored."""

    def begin_sync(self, *args: Any, **kwargs: Any) -> SyncCall:
        kwargs["auto_advance"] = True
        kwargs.pop("ack_through", None)
        return super().begin_sync(*args, **kwargs)


@fault("topics.cursor.10", "topics.cursor.11", "topics.cursor.37", "topics.cursor.47", control="cursor.own")
def the_cursor_goes_to_the_newest():
    """The cursor advances to the newest message, returned or not."""
    patch(rules, passed=lambda _position, _unread, _max_items, newest: newest)


@fault("topics.cursor.39", item="corpus:replies_across_topics")
def the_file_holds_the_next_number():
    """cursors.last_seq is the number to read next."""
    standing, move = cursor.standing, cursor.move

    def one_less(tx: Any, reader: Any) -> cursor.Standing:
        place = standing(tx, reader)
        return place._replace(position=max(place.position - 1, 0))

    patch(cursor, standing=one_less, move=lambda tx, reader, last_seq: move(tx, reader, last_seq + 1))
    reword(cursor, "_NEWS", "(SELECT last_seq", "(SELECT last_seq - 1")


@fault("topics.cursor.13", "topics.cursor.15", control="cursor.own")
def the_last_one_comes_again():
    """The cursor is taken for the number to read next."""
    reword(log, "_UNREAD", "seq > :after", "seq >= :after")


@fault("topics.cursor.51")
def waits_change_their_name():
    """A wait goes on under the name that its session has joined meanwhile."""

    class Call(cursor.SyncCall):
        def receive(self) -> None:
            self.me = self.cursor.lease.joined[self.me.topic_id]
            super().receive()

    patch(cursor, SyncCall=Call)


@fault("topics.cursor.52")
def waits_fail_on_a_closed_topic():
    """A sync that waits when its topic is closed is TOPIC_CLOSED."""

    class Call(cursor.SyncCall):
        def receive(self) -> None:
            with self.cursor.store.snapshot() as tx:
                if cursor.standing(tx, self.me).lane.status == "closed":
                    raise TopicClosed("the topic is closed")
            super().receive()

    patch(cursor, SyncCall=Call)


@fault("topics.cursor.53")
def waits_remember_the_cursor():
    """A sync that waits goes on where its reader stood when it began: two of one session take the same message."""
    receive, _sees_news = SyncCall.receive, SyncCall.sees_news

    def its_own_look(call: SyncCall, tx: Any) -> bool:
        before = call.reply["cursor"]["last_seq"]
        lane, _, _ = call.cursor.standing(tx, call.me)
        return bool(call._page(tx, before, lane.next_seq - 1).messages)

    def from_where_it_began(call: SyncCall) -> None:
        standing, before = call.cursor.standing, call.reply["cursor"]["last_seq"]
        call.cursor.standing = lambda tx, me: (standing(tx, me)[0], before, None)
        try:
            receive(call)
        finally:
            call.cursor.standing = standing

    patch(SyncCall, sees_news=its_own_look, receive=from_where_it_began)


@fault("topics.cursor.24")
def what_was_waited_for_is_a_timeout():
    """The status is that of the first look, also when a wait brought a message."""

    class Call(SyncCall):
        def receive(self) -> None:
            status = self.reply["status"]
            super().receive()
            self.reply["status"] = status

    patch(cursor, SyncCall=Call)


@fault("topics.cursor.23")
class ZeroSecondsAreUnsaid(TopicsBus):
    """wait_seconds=0 is taken for none given, and waits."""

    def begin_sync(self, *args: Any, **kwargs: Any) -> SyncCall:
        kwargs["wait_seconds"] = kwargs.get("wait_seconds") or 2
        return super().begin_sync(*args, **kwargs)


@fault("topics.cursor.56")
def waits_are_cut_short():
    """No wait is longer than 20 s, whatever was asked for."""
    begins = SyncCall.__init__

    def begins_bounded(self: SyncCall, *args: Any) -> None:
        begins(self, *args)
        self.deadline = min(self.deadline, time.monotonic() + 20)

    patch(SyncCall, __init__=begins_bounded)


@fault("topics.cursor.26", item="cursor.two_waits")
def a_wait_for_two_ends_for_both():
    """Two syncs of a session wait on a topic: once one has the message that came, the other gives up."""
    receive, served = SyncCall.receive, set[Any]()

    def receives(self: SyncCall) -> None:
        receive(self)
        if self.reply["received"]:
            served.add(self.me)
        elif self.me in served:
            self.deadline = time.monotonic()

    patch(SyncCall, receive=receives)


@fault("topics.cursor.13")
def cursors_of_32_bits():
    """A cursor is kept in 32 bits, of which one is its sign."""
    move = cursor.move
    patch(cursor, move=lambda tx, reader, last_seq: move(tx, reader, min(last_seq, 2**31 - 1)))
