"""cursor: which messages a reader receives, where it stands afterwards, and how it waits for new ones.

The reader is the first session, so the bus that is judged; the writer may be the kit's own participant. A wait of
WAIT_S is always ended by its script, unless the bus is at fault.
"""

from __future__ import annotations

import sqlite3
import time
import uuid
from collections.abc import Callable
from functools import partial
from typing import Any

from busproof.bus.base import DoorError, Refused
from busproof.bus.session import Session
from busproof.play.scenarios.common import Row, at_once, definite, raced, said
from busproof.play.scenarios.topics.common import (
    FIRST_OF_A_LONG_LIFE,
    bodies,
    database,
    join,
    lane,
    live_long,
    scenario,
    seqs,
    server,
    sync,
    topic,
    unique,
)
from busproof.play.suite import Ctx

WAIT_S = 20
LONG_S = 23
LONG_WAITS_S = (86_400, 2_147_484, 4_294_968, 2**53)  # a day; and more milliseconds than 32 bits hold
CANCELS = 6
RESETS = 5  # who is first at a lock is luck
WAITS = 9  # of one session at once: more than a server has threads to give away
# For a wait to begin; where that is too short, the script sees less and still says nothing wrong.
PAUSE_S = 0.5
LOCKS_TRIED = 3  # to be faster than a reader that is woken
PAGES_MAX = 60


def send(session: Session, topic_id: str, *texts: str) -> list[int]:
    """Send them, receive as little as can be, and return their numbers."""
    reply = sync(session, topic_id, *texts, max_items=1, auto_advance=False)
    return [record["message"]["seq"] for record in reply["sent"]]


def stands(reply: Row) -> int:
    """Where the reply says that its reader stands."""
    return int(reply["cursor"]["last_seq"])


def look(session: Session, topic_id: str) -> Row:
    """Receive without moving the cursor."""
    return sync(session, topic_id, auto_advance=False)


def pages(session: Session, topic_id: str, **params: Any) -> list[Row]:
    """All that is unread, page by page."""
    replies: list[Row] = []
    while len(replies) < PAGES_MAX:
        reply = sync(session, topic_id, **params)
        if not reply["received"]:
            break
        replies.append(reply)
    return replies


def while_waiting(
    session: Session, topic_id: str, act: Callable[[], object], *texts: str, **params: Any
) -> tuple[Row, float]:
    """Act while a sync waits; return the reply, and how many seconds it took."""

    waited, _ = waited_and_acted(session, topic_id, act, *texts, **params)
    return waited["reply"], waited["end_s"] - waited["start_s"]


def waited_and_acted(
    session: Session, topic_id: str, act: Callable[[], object], *texts: str, **params: Any
) -> tuple[Row, Row]:
    """The same; return also when each of the two had its answers."""

    def wait() -> Row:
        start_s = time.monotonic()
        reply = sync(session, topic_id, *texts, **{"wait_seconds": WAIT_S, **params})
        return {"reply": reply, "start_s": start_s, "end_s": time.monotonic()}

    def after_a_moment() -> Row:
        time.sleep(PAUSE_S)
        act()
        return {"end_s": time.monotonic()}

    waited, acted = at_once(wait, after_a_moment)
    if isinstance(waited, DoorError):
        raise waited
    if isinstance(acted, DoorError):
        raise acted
    return waited, acted


def wakes_itself(ctx: Ctx, session: Session, topic_id: str, act: Callable[[], object], **params: Any) -> Row | None:
    """The reply to a wait that an act of its own session ends, and how long it took; None where the session was not
    answered as long as it waited, which is cursor.31's."""
    waited, acted = waited_and_acted(session, topic_id, act, **params)
    took_s = waited["end_s"] - waited["start_s"]
    if took_s >= WAIT_S and acted["end_s"] > waited["end_s"]:
        why = f"a sync waited {took_s:.1f} s, and what its session called meanwhile was answered only then"
        ctx.expect("topics.cursor.31", False, why)
        return None
    return {"bodies": bodies(waited["reply"]), "took_s": took_s}


def restarted(ctx: Ctx, session: Session, tokens: dict[str, str]) -> Session:
    """Kill the session's process; another one joins the topics with the tokens."""
    ctx.crash(session)
    again = ctx.agent(session.agent)
    for topic_id, token in tokens.items():
        join(again, topic_id, reclaim_token=token)
    return again


# ────────── whose, and in which order


@scenario("cursor.own")
def own(ctx: Ctx) -> None:
    """A cursor belongs to one agent on one topic, and begins before the first message."""
    reader, writer, other = (ctx.agent(name) for name in ("reader", "writer", "other"))
    first, second = topic(reader), topic(reader)
    for topic_id, texts in (first, "123"), (second, "4"):
        join(writer, topic_id)
        send(writer, topic_id, *texts)
        join(reader, topic_id)
    join(other, first)
    new = look(reader, first)
    good = stands(new) == 0 and bodies(new) == ["1", "2", "3"]
    ctx.expect("topics.cursor.02", good, f"a new reader stands at {stands(new)} and receives {bodies(new)}")
    sync(reader, first)
    elsewhere, others = bodies(sync(reader, second)), bodies(sync(other, first))
    ctx.expect(
        "topics.cursor.01",
        elsewhere == ["4"] and others == ["1", "2", "3"],
        f"a reader read 1, 2, 3; then it received {elsewhere} on another topic, and another agent {others} on this",
    )


@scenario("cursor.max_items")
def max_items(ctx: Ctx) -> None:
    """Twenty by default, never more than asked for, and the reply says whether that was all."""
    topic_id, (reader, writer) = lane(ctx, "reader", "writer")
    send(writer, topic_id, *map(str, range(25)))
    unsaid = len(look(reader, topic_id)["received"])
    ctx.expect("topics.cursor.04", unsaid == 20, f"of 25 unread messages {unsaid} were received by default")
    single = len(sync(reader, topic_id, max_items=1, auto_advance=False)["received"])
    replies = pages(reader, topic_id, max_items=5)
    counts = [len(reply["received"]) for reply in replies]
    ctx.expect(
        "topics.cursor.05",
        single == 1 and max(counts, default=0) <= 5,
        f"max_items=1 gave {single}, max_items=5 gave {counts}",
    )
    more = [reply.get("has_more") for reply in replies]
    good = more == [True] * (len(more) - 1) + [False]
    ctx.expect("topics.cursor.06", good, f"pages of {counts} messages said has_more {more}")
    ctx.expect("topics.cursor.54", False not in more[:-1], f"pages of {counts} messages said has_more {more}")


# ────────── the reader's own messages


@scenario("cursor.include_self")
def include_self(ctx: Ctx) -> None:
    """A reader does not receive its own messages, unless it asks for them."""
    topic_id, (reader, writer) = lane(ctx, "reader", "writer")
    sending = sync(reader, topic_id, "mine", auto_advance=False)
    send(writer, topic_id, "theirs")
    later = look(reader, topic_id)
    ctx.expect(
        "topics.cursor.07",
        bodies(sending) == [] and bodies(later) == ["theirs"],
        f"by default the sender received {bodies(sending)} as it sent, and {bodies(later)} later",
    )
    both = bodies(sync(reader, topic_id, include_self=True, auto_advance=False))
    ctx.expect("topics.cursor.08", both == ["mine", "theirs"], f"with include_self it received {both}")


@scenario("cursor.own_messages")
def own_messages(ctx: Ctx) -> None:
    """Own messages between those of others hide none of them, and are passed in the end."""
    topic_id, (reader, writer) = lane(ctx, "reader", "writer")
    send(writer, topic_id, "1", "2")
    replies = [sync(reader, topic_id, "mine", max_items=1)]
    send(writer, topic_id, "3")
    replies += pages(reader, topic_id, max_items=1)
    came = [body for reply in replies for body in bodies(reply)]
    ctx.expect("topics.cursor.10", came == ["1", "2", "3"], f"1, 2, an own message and 3 were sent; received {came}")
    newest = sync(reader, topic_id, "mine again")["sent"][0]["message"]["seq"]
    at = stands(sync(reader, topic_id))
    ctx.expect("topics.cursor.09", at == newest, f"nothing is unread up to {newest}, the cursor stands at {at}")


# ────────── how it moves


@scenario("cursor.auto_advance")
def auto_advance(ctx: Ctx) -> None:
    """The returned messages are consumed, and nothing else."""
    topic_id, (reader, writer) = lane(ctx, "reader", "writer")
    send(writer, topic_id, *map(str, range(6)))
    page = sync(reader, topic_id, max_items=2, auto_advance=True)
    ctx.expect(
        "topics.cursor.11",
        stands(page) == max(seqs(page), default=0),
        f"{seqs(page)} were received, and the cursor stands at {stands(page)}",
    )
    unsaid = sync(reader, topic_id, max_items=2)
    ctx.expect(
        "topics.cursor.12",
        stands(unsaid) == max(seqs(unsaid), default=0),
        f"by default {seqs(unsaid)} were received, and the cursor stands at {stands(unsaid)}",
    )
    again = [n for reply in pages(reader, topic_id, max_items=2, auto_advance=True) for n in seqs(reply)]
    good = not set(seqs(page)) & set(again) and len(set(again)) == len(again)
    ctx.expect("topics.cursor.13", good, f"{seqs(page)} were consumed, and later {again} received")
    for first in FIRST_OF_A_LONG_LIFE if ctx.has("sqlite") else ():
        live_long(ctx, topic_id, first)
        send(writer, topic_id, *"xyz")
        read = [bodies(sync(reader, topic_id, max_items=2)) for _ in range(3)]
        good = read == [["x", "y"], ["z"], []]
        ctx.expect("topics.cursor.13", good, f"x, y and z, numbered from {first} on, are read two at a time as {read}")


@scenario("cursor.ack")
def ack(ctx: Ctx) -> None:
    """Without auto_advance an acknowledgement moves the cursor, and nothing else does."""
    topic_id, (reader, writer) = lane(ctx, "reader", "writer")
    sent = send(writer, topic_id, *"1234")
    first, second = look(reader, topic_id), look(reader, topic_id)
    good = seqs(first) == seqs(second) == sent and stands(first) == stands(second) == 0
    ctx.expect(
        "topics.cursor.14",
        good,
        f"twice without an ack: {seqs(first)}, then {seqs(second)}; the cursor at {stands(first)}, {stands(second)}",
    )
    acked = sync(reader, topic_id, auto_advance=False, ack_through=sent[1])
    rest = seqs(look(reader, topic_id))
    ctx.expect(
        "topics.cursor.15",
        stands(acked) == sent[1] and rest == sent[2:],
        f"after ack_through={sent[1]} the cursor stands at {stands(acked)}, and {rest} are unread",
    )


@scenario("cursor.ack_of_sent")
def ack_of_sent(ctx: Ctx) -> None:
    """An acknowledgement may cover what the same call sends."""
    topic_id, (reader, writer) = lane(ctx, "reader", "writer")
    (newest,) = send(writer, topic_id, "1")
    answer = reader.refusal(
        "sync",
        topic_id=topic_id,
        wait_seconds=0,
        auto_advance=False,
        ack_through=newest + 2,
        outbox=[{"content_markdown": "mine"}, {"content_markdown": "mine too"}],
    )
    at = stands(look(reader, topic_id))
    ctx.expect(
        "topics.cursor.20",
        answer is None and at == newest + 2,
        f"two messages and their ack, {newest + 2}: {said(answer)}; the cursor stands at {at}",
    )


# ────────── waiting


@scenario("cursor.waits_long", is_long=True)
def waits_long(ctx: Ctx) -> None:
    """A wait for nothing that is longer than any other wait of these scripts."""
    topic_id, (reader,) = lane(ctx, "reader")
    started = time.monotonic()
    late = reader.call("sync", timeout_s=2 * LONG_S, topic_id=topic_id, wait_seconds=LONG_S)
    took_s = time.monotonic() - started
    good = took_s >= 0.95 * LONG_S and late["received"] == []
    ctx.expect("topics.cursor.56", good, f"a wait of {LONG_S} s was over after {took_s:.2f} s with {bodies(late)}")


@scenario("cursor.statuses")
def statuses(ctx: Ctx) -> None:
    """empty without a wait, timeout after one, ready with a message."""
    topic_id, (reader, writer) = lane(ctx, "reader", "writer")
    started = time.monotonic()
    empty = sync(reader, topic_id, wait_seconds=0)
    took_s = time.monotonic() - started
    ctx.expect(
        "topics.cursor.23",
        empty["status"] == "empty" and took_s < WAIT_S,
        f"with wait_seconds=0 the status was {empty['status']} after {took_s:.1f} s",
    )
    started = time.monotonic()
    late = sync(reader, topic_id, wait_seconds=1)
    took_s = time.monotonic() - started
    ctx.expect("topics.cursor.25", late["status"] == "timeout", f"after a wait for nothing: {late['status']}")
    good = took_s >= 0.95 and late["received"] == []
    ctx.expect("topics.cursor.26", good, f"a wait of 1 s was over after {took_s:.2f} s with {bodies(late)}")
    send(writer, topic_id, "there")
    there = sync(reader, topic_id, wait_seconds=1)["status"]
    came = while_waiting(reader, topic_id, lambda: send(writer, topic_id, "came"))[0]["status"]
    ctx.expect(
        "topics.cursor.24",
        there == came == "ready",
        f"with a message that was there: {there}; with one that came: {came}",
    )


@scenario("cursor.wait", is_long=True)
def wait(ctx: Ctx) -> None:
    """A wait ends with a message, from another process or from this one."""
    topic_id, (reader, writer) = lane(ctx, "reader", "writer")
    reply, took_s = while_waiting(reader, topic_id, lambda: send(writer, topic_id, "theirs"))
    good = bodies(reply) == ["theirs"] and took_s < WAIT_S
    ctx.expect(
        "topics.cursor.28",
        good,
        f"a wait of {WAIT_S} s and a message of another process: {bodies(reply)} after {took_s:.1f} s",
    )

    def unread_again() -> None:
        reader.call("cursor_reset", topic_id=topic_id, last_seq=0)

    def send_mine() -> None:
        send(reader, topic_id, "mine")

    for what, act, wanted, params in (
        ("with include_self, and an own message", send_mine, "mine", {"include_self": True}),
        ("and what was read is unread again", unread_again, "theirs", {}),
    ):
        if (woken := wakes_itself(ctx, reader, topic_id, act, **params)) is None:
            sync(reader, topic_id)
            break
        good = woken["bodies"] == [wanted] and woken["took_s"] < WAIT_S
        why = f"a wait of {WAIT_S} s, {what}: {woken['bodies']} after {woken['took_s']:.1f} s"
        ctx.expect("topics.cursor.27", good, why)
    else:
        two_kinds_of_wait(ctx, topic_id, reader, writer)
    if ctx.has("sqlite"):
        reply, took_s = while_waiting(reader, topic_id, partial(send_before_its_own, ctx, topic_id, reader.agent))
        good = bodies(reply) == ["theirs, before"] and took_s < WAIT_S
        why = (
            f"a wait of {WAIT_S} s, a message, and an own one in the same moment: {bodies(reply)} after {took_s:.1f} s"
        )
        ctx.expect("topics.cursor.27", good, why)
    for number, wait_s in enumerate(LONG_WAITS_S):
        try:
            reply, _ = while_waiting(
                reader, topic_id, partial(send, writer, topic_id, f"after {number}"), wait_seconds=wait_s
            )
        except Refused as error:  # no sentence bounds a wait, and a bus may
            ctx.expect(
                "topics.cursor.28",
                definite(error, "INVALID_ARGUMENT", "-32602"),
                f"a wait of {wait_s} s: {said(error)}",
            )
            sync(reader, topic_id)
        else:
            good = bodies(reply) == [f"after {number}"]
            ctx.expect("topics.cursor.28", good, f"a wait of {wait_s} s, and a message: {bodies(reply)}")


def send_before_its_own(ctx: Ctx, topic_id: str, reader: str) -> None:
    """In one transaction, another's message, and the reader's own behind it."""
    with database(ctx) as db:
        db.execute("BEGIN IMMEDIATE")
        _insert(ctx, db, topic_id, "theirs, before")
        _insert(ctx, db, topic_id, "mine, after", reader)
        db.execute("COMMIT")


def two_kinds_of_wait(ctx: Ctx, topic_id: str, reader: Session, writer: Session) -> None:
    """Two syncs of a session wait on a topic; the second also asks for its own messages, and one of those ends it."""

    def wait_for_all() -> Row:
        time.sleep(PAUSE_S / 2)
        return sync(reader, topic_id, wait_seconds=WAIT_S, include_self=True)

    def act() -> Row:
        time.sleep(2 * PAUSE_S)
        began_s = time.monotonic()
        send(reader, topic_id, "mine, beside")
        took_s = time.monotonic() - began_s
        time.sleep(PAUSE_S)
        send(writer, topic_id, "theirs, beside")
        return {"took_s": took_s}

    _, waited, acted = at_once(lambda: sync(reader, topic_id, wait_seconds=WAIT_S), wait_for_all, act)
    if isinstance(waited, dict) and isinstance(acted, dict) and acted["took_s"] < WAIT_S / 2:
        why = f"of two waits the one with include_self gave {bodies(waited)}, an own message came first"
        ctx.expect("topics.cursor.27", bodies(waited) == ["mine, beside"], why)
    sync(reader, topic_id)


@scenario("cursor.wait_for_others")
def wait_for_others(ctx: Ctx) -> None:
    """A reader that asks and waits is not woken by its own question, by other topics, or by others' syncs."""
    topic_id, (reader, writer) = lane(ctx, "reader", "writer")
    elsewhere = topic(reader)
    join(writer, elsewhere)

    def act() -> None:
        send(writer, elsewhere, "noise")
        look(writer, topic_id)
        time.sleep(PAUSE_S)
        send(writer, topic_id, "answer")

    reply, took_s = while_waiting(reader, topic_id, act, "question")
    ctx.expect(
        "topics.cursor.29",
        bodies(reply) == ["answer"],
        f"the wait ended after {took_s:.1f} s with {bodies(reply)}, and not with the answer",
    )


@scenario("cursor.renamed")
def renamed(ctx: Ctx) -> None:
    """A reader that joins under another name while it waits has done its reading under the first name."""
    topic_id, (reader, writer) = lane(ctx, "a", "b")
    send(writer, topic_id, "1", "2")
    sync(reader, topic_id)

    def rename() -> Row:
        time.sleep(PAUSE_S)
        join(reader, topic_id, agent_name="another")
        return sync(writer, topic_id, "3")

    waited, acted = at_once(lambda: sync(reader, topic_id, wait_seconds=WAIT_S), rename)
    if isinstance(acted, DoorError):
        raise acted
    if isinstance(waited, DoorError):
        good, came = isinstance(waited, Refused) and waited.code == "AGENT_NOT_JOINED", str(waited)
    else:
        came = str(bodies(waited))
        good = bodies(waited) == ["3"]
    ctx.expect("topics.cursor.51", good, f"1 and 2 were read; under another name meanwhile, and after 3: {came}")


@scenario("cursor.closed_meanwhile")
def closed_meanwhile(ctx: Ctx) -> None:
    """A closed topic is read: a waiting reader may have nothing more to hear, and has done nothing wrong."""
    for news in ([], ["last words"]):
        topic_id, (reader, writer) = lane(ctx, "a", "b")

        def close(topic_id: str = topic_id, writer: Session = writer, news: list[str] = news) -> Row:
            time.sleep(PAUSE_S)
            if news:
                sync(writer, topic_id, *news)
            return writer.call("topic_close", topic_id=topic_id)

        waiting = partial(sync, reader, topic_id, "question", wait_seconds=2)
        waited, acted = at_once(waiting, close)
        if isinstance(acted, DoorError):
            raise acted
        came = waited if isinstance(waited, DoorError) else bodies(waited) + bodies(sync(reader, topic_id))
        ctx.expect("topics.cursor.52", came == news, f"closed after {news} while a sync waited: {came}")


@scenario("cursor.wait_blocks_nothing")
def wait_blocks_nothing(ctx: Ctx) -> None:
    """While a sync waits, the session answers. The message that ends the wait is sent after the answers."""
    topic_id, (reader, writer) = lane(ctx, "reader", "writer")

    def ping() -> None:
        reader.call("ping")
        send(writer, topic_id, "after the ping")

    def calls() -> None:
        elsewhere = topic(reader)
        join(reader, elsewhere)
        sync(reader, elsewhere, "mine", wait_seconds=1)
        look(reader, topic_id)
        send(writer, topic_id, "after the calls")

    row_acts = ("topics.cursor.30", ping, "after the ping"), ("topics.cursor.31", calls, "after the calls")
    for row, act, sent in row_acts:
        reply, took_s = while_waiting(reader, topic_id, act)
        ctx.expect(
            row,
            bodies(reply) == [sent],
            f"what was sent {sent} did not come to a wait of {WAIT_S} s, which gave {bodies(reply)} in {took_s:.1f} s",
        )
        sync(reader, topic_id)  # or it ends the next wait
    *lanes, free = [topic(reader) for _ in range(WAITS + 1)]
    for lane_id in (*lanes, free):
        join(reader, lane_id)
        join(writer, lane_id)

    def look_and_end_them() -> Row:
        time.sleep(PAUSE_S)
        reader.call("topic_list")
        sync(reader, free, "one that waits for nothing")
        for lane_id in lanes:
            send(writer, lane_id, "after the look")
        return {}

    waits = [partial(sync, reader, lane_id, wait_seconds=WAIT_S) for lane_id in lanes]
    *ended, _ = at_once(*waits, look_and_end_them)
    came = [ended_one if isinstance(ended_one, DoorError) else bodies(ended_one) for ended_one in ended]
    why = f"{WAITS} syncs of a session waited while it listed topics and sent, then each topic got a message: {came}"
    ctx.expect("topics.cursor.31", came == [["after the look"]] * WAITS, why)


@scenario("cursor.two_waits")
def two_waits(ctx: Ctx) -> None:
    """A session may wait twice on a topic; a message that comes is given to one of the two, and the other waits on."""
    topic_id, (reader, writer) = lane(ctx, "reader", "writer")

    def wait() -> Row:
        began_s = time.monotonic()
        return {**sync(reader, topic_id, wait_seconds=3), "took_s": time.monotonic() - began_s}

    def later() -> Row:
        time.sleep(1)  # whether both wait by then or not, it comes once
        send(writer, topic_id, "once")
        return {}

    replies = [reply for reply in at_once(wait, wait, later)[:2] if not isinstance(reply, DoorError)]
    came = [body for reply in [*replies, sync(reader, topic_id)] for body in bodies(reply)]
    ctx.expect("topics.cursor.53", came == ["once"], f"sent once, received by two waits and a look afterwards: {came}")
    cut_s = [reply["took_s"] for reply in replies if not reply["received"] and reply["took_s"] < 2.85]
    if cut_s:  # the row of another item (decision 0033)
        ctx.expect(
            "topics.cursor.26",
            False,
            f"of two waits of 3 s, a message came for one, and the other was over after {cut_s} s",
        )


# ────────── callers that go


@scenario("cursor.cancel", is_long=True)
def cancel(ctx: Ctx) -> None:
    """A wait that is cancelled consumes nothing afterwards; its own messages can be sent again."""
    topic_id, (reader, writer) = lane(ctx, "reader", "writer")
    item = {"content_markdown": "mine", "client_message_id": unique("key")}
    waiting = {"topic_id": topic_id, "outbox": [item], "wait_seconds": WAIT_S}
    was_cancelled = server(reader).cancelled("sync", waiting, 2 * PAUSE_S)
    if not was_cancelled:
        why = "a sync that had nothing to receive, and sent a message, was answered before it could be cancelled"
        ctx.expect("topics.cursor.26", False, why)
        return
    reader.call("ping")  # the cancel went before
    send(writer, topic_id, "news")
    # A bus that gives back a message it took may need a moment.
    new = bodies(sync(reader, topic_id, outbox=[item], wait_seconds=5))
    ctx.expect(
        "topics.cursor.32", new == ["news"], f"a wait was cancelled, then news were sent; the next sync received {new}"
    )
    heard = bodies(sync(writer, topic_id))
    ctx.expect(
        "topics.cursor.33",
        heard == ["mine"],
        f"a message sent, cancelled and sent again with its key was received as {heard}",
    )
    for id_ in (0, "", "0", -1):  # a request has the id that its client gave it, a number or a text
        was_cancelled = server(reader).cancelled("sync", {"topic_id": topic_id, "wait_seconds": WAIT_S}, PAUSE_S, id_)
        reader.call("ping")
        send(writer, topic_id, "news")
        new = bodies(sync(reader, topic_id, wait_seconds=5))
        why = f"a wait whose request had the id {id_!r} was cancelled ({was_cancelled}); the next sync received {new}"
        ctx.expect("topics.cursor.32", was_cancelled and new == ["news"], why)
    if ctx.has("sqlite"):
        send(writer, topic_id, "waits for the lock")
        with database(ctx) as db:  # the cancel overtakes a sync that stands still before it can take anything
            db.execute("BEGIN IMMEDIATE")
            was_cancelled = server(reader).cancelled("sync", {"topic_id": topic_id, "wait_seconds": 0}, PAUSE_S)
            reader.call("ping")  # the cancel went before
            db.execute("COMMIT")
        if was_cancelled:  # a bus that answers at once while another writes has ended the call before
            new = bodies(sync(reader, topic_id, wait_seconds=5))
            why = f"a sync was cancelled while it waited for the file's lock; the next one received {new}"
            ctx.expect("topics.cursor.32", new == ["waits for the lock"], why)
        cancelled_before_another(ctx, topic_id, reader, writer)
    cancelled_at_any_moment(ctx, topic_id, reader, writer)


def cancelled_before_another(ctx: Ctx, topic_id: str, reader: Session, writer: Session) -> None:
    """A sync that stands still is cancelled; the one behind it sends, and receives what the first one may not have."""
    send(writer, topic_id, "for the second")
    with database(ctx) as db:
        db.execute("BEGIN IMMEDIATE")
        first = server(reader).begin("sync", {"topic_id": topic_id, "wait_seconds": 0})
        outbox = [{"content_markdown": "mine, behind it"}]
        behind = server(reader).begin("sync", {"topic_id": topic_id, "wait_seconds": 0, "outbox": outbox})
        time.sleep(PAUSE_S)
        server(reader).cancel(first)
        reader.call("ping")  # the cancel went before
        db.execute("COMMIT")
    try:
        came = bodies(server(reader).answer(behind, "sync")) + bodies(sync(reader, topic_id, wait_seconds=2))
    except Refused:
        return  # a bus that does not wait for the lock (log.70)
    if not server(reader).has_answered(first):
        why = (
            f"of two syncs that stood still the first was cancelled; the other, which sent, and a third received {came}"
        )
        ctx.expect("topics.cursor.32", came == ["for the second"], why)


def cancelled_at_any_moment(ctx: Ctx, topic_id: str, reader: Session, writer: Session) -> None:
    """Many lines take a while to be answered: whenever the caller goes meanwhile, they are answered or unread."""
    for _ in range(2):
        sync(writer, topic_id, *(["long\n" * 12_000] * 10))
    began_s = time.monotonic()
    newest = stands(sync(reader, topic_id))
    took_s = time.monotonic() - began_s
    for part in range(CANCELS):
        reader.call("cursor_reset", topic_id=topic_id, last_seq=newest - 20)
        asked = server(reader).begin("sync", {"topic_id": topic_id, "wait_seconds": 0})
        time.sleep(took_s * part / CANCELS)
        server(reader).cancel(asked)
        reader.call("ping")  # the cancel went before
        # A bus that gives back a message it took may need a moment; one that answers all the same has given them.
        unread = len(sync(reader, topic_id, auto_advance=False, wait_seconds=1)["received"])
        if unread < 20 and not server(reader).has_answered(asked):
            why = f"cancelled after {part}/{CANCELS} of its time and unanswered, a sync left {unread} of 20 unread"
            ctx.expect("topics.cursor.32", False, why)
            return


@scenario("cursor.deadline", is_long=True)
def deadline(ctx: Ctx) -> None:
    """A message that comes when the time is over is for the next sync."""
    topic_id, (reader, writer) = lane(ctx, "reader", "writer")
    sync(reader, topic_id, wait_seconds=1)
    send(writer, topic_id, "1")
    came = bodies(sync(reader, topic_id))
    ctx.expect("topics.cursor.34", came == ["1"], f"sent after the time was over, 1 was received as {came}")
    if ctx.has("sqlite"):
        before = last_sync(ctx, topic_id)
        waited, _ = at_once(
            lambda: sync(reader, topic_id, wait_seconds=1),
            lambda: commit_after_the_deadline(ctx, topic_id, before, wait_s=1),
        )
        in_time = [] if isinstance(waited, DoorError) else bodies(waited)
        came = bodies(sync(reader, topic_id))
        ctx.expect(
            "topics.cursor.34",
            (in_time, came) == ([], ["late"]),
            f"committed a second after the time was over: the wait received {in_time}, the next sync {came}",
        )
        for _ in range(LOCKS_TRIED):
            waited, held = at_once(
                lambda: sync(reader, topic_id, wait_seconds=1),
                partial(lock_until_after_the_deadline, ctx, topic_id, last_sync(ctx, topic_id), wait_s=1),
            )
            in_time = [] if isinstance(waited, DoorError) else bodies(waited)
            came = bodies(sync(reader, topic_id))
            if isinstance(held, dict) and not held["is_taken"]:
                ctx.expect(
                    "topics.cursor.34",
                    (in_time, came) == ([], ["prompt"]),
                    f"a message came in time, the lock a second too late: the wait received {in_time}, the next {came}",
                )
                break


def last_sync(ctx: Ctx, topic_id: str) -> float:
    """When the reader's cursor was touched, as every sync does."""
    sql = "SELECT updated_at FROM cursors WHERE topic_id = ? AND agent_name = 'reader'"
    with database(ctx) as db:
        return float(db.execute(sql, (topic_id,)).fetchone()[0])


def commit_after_the_deadline(ctx: Ctx, topic_id: str, before: float, wait_s: int) -> Row:
    """Once the reader waits, take the lock, and commit a message when its time is surely over.

    Where nothing shows that it waits, the lock comes too late to disturb, and the message is just for the next sync.
    """
    over_at = _over_at(ctx, topic_id, before, wait_s)
    with database(ctx) as db:
        db.execute("BEGIN IMMEDIATE")
        _insert(ctx, db, topic_id, "late")
        time.sleep(max(0.0, over_at - time.monotonic()))
        db.execute("COMMIT")
    return {}


def lock_until_after_the_deadline(ctx: Ctx, topic_id: str, before: float, wait_s: int) -> Row:
    """Once the reader waits, commit a message, and take the lock at once until its time is surely over.

    `is_taken` says that the reader was faster: it has the message, in time.
    """
    over_at = _over_at(ctx, topic_id, before, wait_s)
    with database(ctx) as db:
        db.execute("BEGIN IMMEDIATE")
        seq = _insert(ctx, db, topic_id, "prompt")
        db.execute("COMMIT")
        db.execute("BEGIN IMMEDIATE")
        cursor = "SELECT last_seq >= ? FROM cursors WHERE topic_id = ? AND agent_name = 'reader'"
        (is_taken,) = db.execute(cursor, (seq, topic_id)).fetchone()
        time.sleep(0 if is_taken else max(0.0, over_at - time.monotonic()))
        db.execute("COMMIT")
    return {"is_taken": bool(is_taken)}


def _over_at(ctx: Ctx, topic_id: str, before: float, wait_s: int) -> float:
    """When a wait is surely over if it has begun by the time of this answer, as far as anything shows it."""
    until = time.monotonic() + 10 * wait_s
    while last_sync(ctx, topic_id) == before and time.monotonic() < until:
        time.sleep(0.01)
    return time.monotonic() + wait_s + 1


def _insert(ctx: Ctx, db: sqlite3.Connection, topic_id: str, body: str, sender: str = "stranger") -> int:
    """Insert a stranger's message in the open transaction."""
    (seq,) = db.execute("SELECT next_seq FROM topic_seq WHERE topic_id = ?", (topic_id,)).fetchone()
    db.execute("UPDATE topic_seq SET next_seq = next_seq + 1 WHERE topic_id = ?", (topic_id,))
    db.execute(
        "INSERT INTO messages (message_id, topic_id, seq, sender, message_type, content_markdown, created_at)"
        " VALUES (?, ?, ?, ?, 'message', ?, ?)",
        (uuid.uuid4().hex[:10], topic_id, seq, sender, body, ctx.now_s),
    )
    return int(seq)


@scenario("cursor.disconnect")
def disconnect(ctx: Ctx) -> None:
    """A message sent after a waiting client left is there when it comes back: on each topic on which it waited."""
    reader, writer = ctx.agent("reader"), ctx.agent("writer")
    topics = [topic(reader) for _ in range(3)]
    tokens = {topic_id: join(reader, topic_id)["reclaim_token"] for topic_id in topics}
    for topic_id in topics:
        join(writer, topic_id)

    def wait(topic_id: str) -> Row:
        try:
            return sync(reader, topic_id, wait_seconds=WAIT_S)
        finally:
            # The client has gone. Its server has a second to see that too, and may not be dead yet.
            time.sleep(1)
            send(writer, topic_id, "news")

    def leave() -> Row:
        time.sleep(PAUSE_S)
        server(reader).disconnect()
        return {}

    *waited, _ = at_once(*(partial(wait, topic_id) for topic_id in topics), leave)
    again = ctx.agent("reader")
    for topic_id in topics:
        join(again, topic_id, reclaim_token=tokens[topic_id])
    came = [bodies(sync(again, topic_id)) for topic_id in topics]
    ctx.expect(
        "topics.cursor.35",
        all(isinstance(result, DoorError) for result in waited) and came == [["news"]] * 3,
        f"three waiting calls gave {waited}; back again the client received {came}, and each time ['news'] had come",
    )


# ────────── restarts


@scenario("cursor.at_least_once")
def at_least_once(ctx: Ctx) -> None:
    """A killed reader receives unacknowledged messages again, but not those that its cursor passed by itself."""
    reader, writer = ctx.agent("reader"), ctx.agent("writer")
    careful, careless = topic(reader), topic(reader)
    tokens = {topic_id: join(reader, topic_id)["reclaim_token"] for topic_id in (careful, careless)}
    for topic_id in tokens:
        join(writer, topic_id)
    done, *_ = send(writer, careful, *"123")
    send(writer, careless, *"123")
    look(reader, careful)
    sync(reader, careful, auto_advance=False, ack_through=done)
    had = bodies(sync(reader, careless, max_items=2))
    again = restarted(ctx, reader, tokens)
    came = bodies(sync(again, careful, auto_advance=False))
    ctx.expect("topics.cursor.36", came == ["2", "3"], f"1 of 1, 2, 3 was acknowledged; after a kill came {came}")
    rest = bodies(sync(again, careless))
    ctx.expect("topics.cursor.37", had + rest == ["1", "2", "3"], f"received {had}, and after a kill {rest}")


@scenario("cursor.durable")
def durable(ctx: Ctx) -> None:
    """A cursor outlives the server, however it was moved."""
    reader, writer = ctx.agent("reader"), ctx.agent("writer")
    topics = [topic(reader) for _ in range(3)]
    tokens = {topic_id: join(reader, topic_id)["reclaim_token"] for topic_id in topics}
    for topic_id in topics:
        join(writer, topic_id)
        sent = send(writer, topic_id, *"123")
    read, acked, reset = topics
    sync(reader, read, max_items=2)
    sync(reader, acked, auto_advance=False, ack_through=sent[1])
    reader.call("cursor_reset", topic_id=reset, last_seq=sent[1])
    again = restarted(ctx, reader, tokens)
    came = [bodies(sync(again, topic_id)) for topic_id in topics]
    ctx.expect(
        "topics.cursor.38",
        came == [["3"]] * 3,
        f"read, acknowledged and reset up to 2 of 1, 2, 3; after a kill {came} were unread",
    )


# ────────── cursor_reset


@scenario("cursor.reset")
def reset(ctx: Ctx) -> None:
    """A reader goes back, or forward, and nobody else does."""
    topic_id, (reader, writer, other) = lane(ctx, "reader", "writer", "other")
    elsewhere = topic(reader)
    for session in (reader, writer):
        join(session, elsewhere)
    send(writer, elsewhere, "old", "new")
    sync(reader, elsewhere, max_items=1)
    sent = send(writer, topic_id, *"1234")
    sync(reader, topic_id)
    sync(other, topic_id, max_items=3)
    at = stands(reader.call("cursor_reset", topic_id=topic_id, last_seq=sent[1]))
    rest = seqs(sync(reader, topic_id))
    ctx.expect(
        "topics.cursor.42",
        at == sent[1] and rest == sent[2:],
        f"reset to {sent[1]}: the reply said {at}, and the next sync received {rest}",
    )
    reader.call("cursor_reset", topic_id=topic_id, last_seq=0)
    replay = seqs(sync(reader, topic_id))
    ctx.expect("topics.cursor.40", replay == sent, f"of {sent} a reset to 0 replayed {replay}")
    reader.call("cursor_reset", topic_id=topic_id)
    unsaid = seqs(sync(reader, topic_id))
    ctx.expect("topics.cursor.41", unsaid == sent, f"of {sent} a reset without last_seq replayed {unsaid}")
    beside_a_sync(ctx, topic_id, reader)
    theirs, there = seqs(sync(other, topic_id)), bodies(sync(reader, elsewhere))
    ctx.expect(
        "topics.cursor.43",
        theirs == sent[3:] and there == ["new"],
        f"after resets another agent received {theirs} of {sent[3:]}, and on another topic the caller {there}",
    )


def beside_a_sync(ctx: Ctx, topic_id: str, reader: Session) -> None:
    """A reset and a sync of one session at once: the sync receives all again, or finds nothing and all is unread."""
    for _ in range(RESETS):
        synced, was_reset = raced(
            ctx, partial(sync, reader, topic_id), partial(reader.call, "cursor_reset", topic_id=topic_id, last_seq=0)
        )
        if isinstance(synced, DoorError) or isinstance(was_reset, DoorError):
            return
        new, unread = seqs(synced), seqs(sync(reader, topic_id))
        good = bool(new) != bool(unread)
        why = (
            f"nothing was unread; of a sync and a reset to 0 at once the sync received {new}, then {unread} were unread"
        )
        if not good:
            ctx.expect("topics.cursor.42", False, why)
            return


@scenario("cursor.bad_reset")
def bad_reset(ctx: Ctx) -> None:
    """A cursor can only be set to a message that exists, by an agent that has joined."""
    topic_id, (reader, writer) = lane(ctx, "reader", "writer")
    sent = send(writer, topic_id, *"12")
    sync(reader, topic_id, max_items=1)
    wanted = stands(look(reader, topic_id))
    answers = [reader.refusal("cursor_reset", topic_id=topic_id, last_seq=seq) for seq in (-1, sent[1] + 1)]
    at = stands(look(reader, topic_id))
    for row, answer in zip(("topics.cursor.44", "topics.cursor.45"), answers, strict=True):
        good = definite(answer, "INVALID_ARGUMENT") and at == wanted
        ctx.expect(row, good, f"{said(answer)}; the cursor stands at {at}, the newest is {sent[1]}")
    at = stands(reader.call("cursor_reset", topic_id=topic_id, last_seq=sent[1]))
    ctx.expect("topics.cursor.45", at == sent[1], f"a reset to the newest, {sent[1]}, gave {at}")
    strange = topic(writer)
    answer = reader.refusal("cursor_reset", topic_id=strange)
    ctx.expect("topics.cursor.46", definite(answer, "AGENT_NOT_JOINED"), f"on a topic not joined: {said(answer)}")
