"""lease: a name on a topic is one agent's for the life of the topic; its token alone brings it back."""

from __future__ import annotations

import re
from typing import Any

from busproof.bus.base import Refused
from busproof.bus.session import Session
from busproof.play.scenarios.common import Row, definite, said
from busproof.play.scenarios.topics.common import (
    all_answered,
    bodies,
    database,
    join,
    lane,
    scenario,
    server,
    sync,
    topic,
    unique,
)
from busproof.play.suite import Ctx

YEARS_S = 5 * 365 * 86_400
TIMES = {  # of all that a topic has
    "topics": ["created_at"],
    "topic_seq": ["updated_at"],
    "messages": ["created_at"],
    "cursors": ["updated_at"],
    "agent_name_reservations": ["created_at", "last_claimed_at"],
}
RACES = 6


def restart(ctx: Ctx, session: Session) -> None:
    """The same client with a new server process, which remembers nothing."""
    server(session).disconnect()
    session.door.call("open", {"store": str(ctx.store), "options": {}})


def reservations(ctx: Ctx, topic_id: str) -> list[Row]:
    """The holders of names on a topic, by name."""
    with database(ctx) as db:
        sql = "SELECT * FROM agent_name_reservations WHERE topic_id = ? ORDER BY agent_name"
        return [dict(row) for row in db.execute(sql, (topic_id,))]


def called(session: Session, topic_id: str, name: str) -> set[str]:
    """Join under a name; return the session's name in the reply and in a message, nothing if it is refused."""
    try:
        own_name = join(session, topic_id, agent_name=name)["agent_name"]
    except Refused:
        return set()
    return {own_name, sync(session, topic_id, "who am I?")["sent"][0]["message"]["sender"]}


@scenario("lease.reserved")
def reserved(ctx: Ctx) -> None:
    """A name stays its owner's when the owner's process is dead, on this topic and on no other."""
    a, b = ctx.agent("a"), ctx.agent("b")
    topic_id, two = topic(a), topic(a)
    join(b, topic_id)
    ctx.crash(b)
    refused = a.refusal("topic_join", topic_id=topic_id, agent_name="b")
    ctx.expect(
        "topics.lease.09",
        definite(refused, "AGENT_NAME_IN_USE"),
        f"joined with the name of a process that was killed: {said(refused)}",
    )
    elsewhere = a.refusal("topic_join", topic_id=two, agent_name="b")
    ctx.expect("topics.lease.10", elsewhere is None, f"the same name on another topic: {said(elsewhere)}")


@scenario("lease.race")
def race(ctx: Ctx) -> None:
    """When several processes want one name at once, one gets it."""
    sessions = [ctx.agent(name) for name in "abc"]

    def race_once() -> list[str]:
        topic_id = topic(sessions[0])
        results = all_answered(ctx, *(lambda s=s: join(s, topic_id, agent_name="twin") for s in sessions))
        return sorted("joined" if isinstance(r, dict) else getattr(r, "code", str(r)) for r in results)

    races = [race_once() for _ in range(RACES)]
    bad = [ends for ends in races if ends != ["AGENT_NAME_IN_USE", "AGENT_NAME_IN_USE", "joined"]]
    ctx.expect("topics.lease.11", not bad, f"in {len(bad)} of {RACES} races of three processes: {bad}")


@scenario("lease.reclaim")
def reclaim(ctx: Ctx) -> None:
    """After a restart the token, and nothing else, brings back the name and the place in the stream."""
    a, b = ctx.agent("a"), ctx.agent("b")
    topic_id = topic(a)
    token, of_another = (join(session, topic_id)["reclaim_token"] for session in (a, b))
    sync(b, topic_id, "1", "2")
    sync(a, topic_id)
    sync(b, topic_id, "3")
    restart(ctx, a)
    tries: tuple[Row, ...] = ({}, {"reclaim_token": "0" * 32}, {"reclaim_token": of_another})
    answers = [a.refusal("topic_join", topic_id=topic_id, agent_name="a", **given) for given in tries]
    good = all(definite(answer, "AGENT_NAME_IN_USE") for answer in answers)
    ctx.expect(
        "topics.lease.14",
        good,
        f"joined again without a token, with one that nobody has, with another "
        f"agent's: {[said(answer) for answer in answers]}",
    )
    again = join(a, topic_id, reclaim_token=token)
    reply = sync(a, topic_id, "back")
    back = (again["agent_name"], again["topic_id"], reply["sent"][0]["message"]["sender"])
    ctx.expect("topics.lease.12", back == ("a", topic_id, "a"), f"a reclaimed its name, and is {back}: {again}")
    ctx.expect(
        "topics.lease.13", again["reclaim_token"] == token, f"the token was {token!r}, then {again['reclaim_token']!r}"
    )
    ctx.expect("topics.lease.15", bodies(reply) == ["3"], f"1 and 2 were read before; then a read {bodies(reply)}")


@scenario("lease.text")
def text(ctx: Ctx) -> None:
    """A client that shows only text can keep the token."""
    a = ctx.agent("a")
    token = join(a, topic(a))["reclaim_token"]
    shown = server(a).text
    ctx.expect(
        "topics.lease.19",
        f"reclaim_token={token}" in shown,
        f"the token is {token}, the text of the reply was {shown!r}",
    )
    ctx.expect("topics.lease.20", shown.rstrip().endswith(f"reclaim_token={token}"), f"the text was {shown!r}")


@scenario("lease.tokens")
def tokens(ctx: Ctx) -> None:
    """A token is 32 hexadecimal digits, and one name has a different token on each topic."""
    a = ctx.agent("a")
    each = [join(a, topic(a))["reclaim_token"] for _ in range(3)]
    good = all(re.fullmatch("[0-9a-fA-F]{32}", token) for token in each) and len(set(each)) == len(each)
    ctx.expect("topics.lease.21", good, f"one name on three topics: {each}")


@scenario("lease.secret")
def secret(ctx: Ctx) -> None:
    """A session with the token holds its name, so nothing that another session is shown contains the token."""
    topic_id, (a, b) = lane(ctx, "a", "b")
    token = a.call("topic_join", topic_id=topic_id, agent_name="a")["reclaim_token"]
    sync(a, topic_id, outbox=[{"content_markdown": "alpha"}])
    shown = {}
    looks: dict[str, dict[str, Any]] = {
        "sync": {"topic_id": topic_id, "wait_seconds": 0, "include_self": True},
        "topic_list": {"status": "all"},
        "topic_resolve": {"name": b.call("topic_list")["topics"][0]["name"]},
    }
    looks |= {"topic_presence": {"topic_id": topic_id}} if ctx.has("presence") else {}
    looks |= {"messages_search": {"query": "alpha", "include_content": True}} if ctx.has("search") else {}
    for method, params in looks.items():
        shown[method] = f"{b.call(method, **params)} {b.door.text if hasattr(b.door, 'text') else ''}"
    for given in ({}, {"reclaim_token": token[:-1]}, {"reclaim_token": "0" * 32}):
        shown[f"topic_join with {given}"] = str(b.refusal("topic_join", topic_id=topic_id, agent_name="a", **given))
    shown["topic_join under that name on another topic"] = str(join(b, topic(b), agent_name="a"))
    leaks = [method for method, text in shown.items() if token in text]
    ctx.expect("topics.lease.29", not leaks, f"another session was shown the token by {', '.join(leaks)}")


@scenario("lease.expiry")
def expiry(ctx: Ctx) -> None:
    """An agent that has not been seen for a long time is not present, and keeps its name."""
    topic_id, (a, b) = lane(ctx, "a", "b")
    sync(b, topic_id)
    with database(ctx) as db:
        month_ago = (ctx.now_s - 30 * 86_400, topic_id)
        db.execute("UPDATE cursors SET updated_at = ? WHERE topic_id = ? AND agent_name = 'b'", month_ago)
    refused = a.refusal("topic_join", topic_id=topic_id, agent_name="b")
    ctx.expect(
        "topics.lease.22",
        definite(refused, "AGENT_NAME_IN_USE"),
        f"joined with the name of who last synced a month ago: {said(refused)}",
    )
    years_later(ctx)


def years_later(ctx: Ctx) -> None:
    """Nothing that is stored ends by its age: names, cursors, keys, messages, the topic. All servers begin anew."""
    name, word = unique(), unique("word")
    a, b = ctx.agent("a"), ctx.agent("b")
    topic_id = topic(a, name=name)
    tokens = {session.agent: join(session, topic_id)["reclaim_token"] for session in (a, b)}
    item = {"content_markdown": word, "client_message_id": "k"}
    first = sync(a, topic_id, outbox=[item, {"content_markdown": "second"}])["sent"][0]["message"]
    sync(b, topic_id, max_items=1)
    with database(ctx) as db:
        for table, times in TIMES.items():
            earlier = ", ".join(f"{column} = {column} - {YEARS_S}" for column in times)
            db.execute(f"UPDATE {table} SET {earlier} WHERE topic_id = ?", (topic_id,))
    ctx.crash(a)
    ctx.crash(b)
    late, again = ctx.agent("late"), ctx.agent("again")
    join(late, topic_id)
    unread = bodies(sync(late, topic_id))
    refused = late.refusal("topic_join", topic_id=topic_id, agent_name="b")
    why = f"joined with the name of who last synced years ago: {said(refused)}"
    ctx.expect("topics.lease.22", definite(refused, "AGENT_NAME_IN_USE"), why)
    join(again, topic_id, agent_name="a", reclaim_token=tokens["a"])
    retried = again.refusal("sync", topic_id=topic_id, wait_seconds=0, outbox=[item])
    join(again, topic_id, agent_name="b", reclaim_token=tokens["b"])
    left = bodies(sync(again, topic_id))
    resolved = late.refusal("topic_resolve", name=name)
    sent = sync(again, topic_id, "to whom it concerns")["sent"][0]["message"]["seq"]
    for row, good, why in (
        ("topics.log.47", unread == [word, "second"], f"who came years later read {unread}"),
        ("topics.cursor.38", left == ["second"], f"one of two was read; years later came {left}"),
        ("topics.log.88", retried is None, f"a retry, years later, was {said(retried)}"),
        ("topics.log.61", sent == first["seq"] + 2, f"after a retry, years later, the third message has seq {sent}"),
        ("topics.route.10", resolved is None, f"years later the open topic {name} is {said(resolved)}"),
    ):
        if not good:  # the row of another item (decision 0033)
            ctx.expect(row, False, why)


@scenario("lease.upgrade")
def upgrade(ctx: Ctx) -> None:
    """On a topic of an older server nobody has a reservation: the first to join makes it, and reads on."""
    a, b = ctx.agent("a"), ctx.agent("b")
    topic(a)  # so that the tables are there
    topic_id = older_topic(ctx)
    token = join(a, topic_id)["reclaim_token"]
    refused = b.refusal("topic_join", topic_id=topic_id, agent_name="a")
    rows = [(row["agent_name"], row["reclaim_token"]) for row in reservations(ctx, topic_id)]
    came = bodies(sync(a, topic_id))
    good = definite(refused, "AGENT_NAME_IN_USE") and rows == [("a", token)] and came == ["unread"]
    ctx.expect(
        "topics.lease.23",
        good,
        f"a joined and was given {token!r}; another then: {said(refused)}; the "
        f"reservations: {rows}; a read on with {came}",
    )


def older_topic(ctx: Ctx) -> str:
    """A topic from before there were reservations: a has read one of two messages."""
    id_, now = unique("old"), ctx.now_s - 86_400
    with database(ctx) as db:
        db.execute("INSERT INTO topics (topic_id, name, created_at, status) VALUES (?, ?, ?, 'open')", (id_, id_, now))
        db.execute("INSERT INTO topic_seq (topic_id, next_seq, updated_at) VALUES (?, 3, ?)", (id_, now))
        for seq, body in ((1, "read"), (2, "unread")):
            db.execute(
                "INSERT INTO messages (message_id, topic_id, seq, sender, message_type, content_markdown, created_at)"
                " VALUES (?, ?, ?, 'b', 'message', ?, ?)",
                (unique("m"), id_, seq, body, now),
            )
        db.execute("INSERT INTO cursors (topic_id, agent_name, last_seq, updated_at) VALUES (?, 'a', 1, ?)", (id_, now))
    return id_


@scenario("lease.taken_over")
def taken_over(ctx: Ctx) -> None:
    """Unread messages are the new holder's: the old session neither reads them nor moves the cursor (B10)."""
    a, b, writer = ctx.agent("a"), ctx.agent("b"), ctx.agent("writer")
    topic_id = topic(a)
    token = join(a, topic_id)["reclaim_token"]
    join(writer, topic_id)
    sync(a, topic_id)
    join(b, topic_id, agent_name="a", reclaim_token=token)
    sync(writer, topic_id, "1", "2")
    first = a.refusal("sync", topic_id=topic_id, wait_seconds=0)
    left = bodies(sync(b, topic_id))
    good = definite(first, "AGENT_NOT_JOINED") and left == ["1", "2"]
    ctx.expect("topics.lease.27", good, f"the first session read: {said(first)}; the second then read {left} of 1, 2")
    sync(writer, topic_id, "3")
    refused = a.refusal("cursor_reset", topic_id=topic_id, last_seq=3)
    left = bodies(sync(b, topic_id))
    good = definite(refused, "AGENT_NOT_JOINED") and left == ["3"]
    ctx.expect("topics.lease.28", good, f"the first session reset: {said(refused)}; the second then read {left} of 3")
    calls: list[tuple[str, Row]] = [
        ("sync", {"wait_seconds": 0, "outbox": [{"content_markdown": "4"}]}),
        ("sync", {"wait_seconds": 0}),
        ("cursor_reset", {"last_seq": 0}),
        ("sync", {"wait_seconds": 0, "auto_advance": False, "ack_through": 1}),
    ]
    answers = [a.refusal(call, topic_id=topic_id, **params) for call, params in calls]
    sent_away = [answer is not None and answer.code == "AGENT_NOT_JOINED" for answer in (first, refused, *answers)]
    why = f"the first session reads, resets, sends, reads, resets, acknowledges; is each AGENT_NOT_JOINED? {sent_away}"
    ctx.expect("topics.lease.32", sent_away == sorted(sent_away), why)


@scenario("lease.closed")
def closed(ctx: Ctx) -> None:
    """A join by name means an open topic, unless it says otherwise."""
    a = ctx.agent("a")
    name = unique()
    topic_id = topic(a, name=name)
    a.call("topic_close", topic_id=topic_id)
    refused = a.refusal("topic_join", agent_name="a", name=name)
    allowed = a.call("topic_join", agent_name="a", name=name, allow_closed=True)
    good = definite(refused) and (allowed["topic_id"], allowed["status"]) == (topic_id, "closed")
    ctx.expect("topics.lease.26", good, f"joined a closed topic by name: {said(refused)}; with allow_closed: {allowed}")
