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
    is_recent,
    join,
    lane,
    scenario,
    server,
    sync,
    topic,
    turned_away,
    unique,
)
from busproof.play.suite import Ctx

NOBODY = "00000dead0"
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
        told = join(session, topic_id, agent_name=name)["agent_name"]
    except Refused:
        return set()
    return {told, sync(session, topic_id, "who am I?")["sent"][0]["message"]["sender"]}


@scenario("lease.join")
def joins(ctx: Ctx) -> None:
    """A topic is joined by its id or by its name, and the reply says all that a client must know."""
    a = ctx.agent("a")
    names = [unique(), unique()]
    by_id, by_name = (topic(a, name=name) for name in names)
    first = join(a, by_id)
    sent = sync(a, by_id, "joined by id")["sent"][0]["message"]
    wanted = {"topic_id": by_id, "name": names[0], "status": "open", "agent_name": "a"}
    good = wanted.items() <= first.items() and first["reclaim_token"] != ""
    ctx.expect("topics.lease.01", good, f"a joined {wanted}; the reply was {first}")
    ctx.expect(
        "topics.lease.02",
        (first["topic_id"], sent["sender"]) == (by_id, "a"),
        f"joined {by_id} by its id: {first}; a message sent there: {sent}",
    )
    second = a.call("topic_join", agent_name="a", name=names[1])
    sent = sync(a, by_name, "joined by name")["sent"][0]["message"]
    ctx.expect(
        "topics.lease.03",
        (second["topic_id"], sent["sender"]) == (by_name, "a"),
        f"joined {by_name} by its name: {second}; a message sent there: {sent}",
    )


@scenario("lease.bad_join")
def bad_join(ctx: Ctx) -> None:
    """A join gives one topic, which must exist, and a name."""
    a = ctx.agent("a")
    name = unique()
    one = topic(a, name=name)
    neither = a.refusal("topic_join", agent_name="a")
    both = a.refusal("topic_join", agent_name="a", topic_id=one, name=name)
    good = definite(neither, "INVALID_ARGUMENT") and definite(both, "INVALID_ARGUMENT")
    ctx.expect("topics.lease.04", good, f"neither: {said(neither)}; both: {said(both)}")
    missing, a_list = (a.refusal("topic_join", topic_id=one, **who) for who in ({}, {"agent_name": ["a"]}))
    told = f"no agent_name: {said(missing)}; a list: {said(a_list)}"
    turned_away(ctx, "topics.lease.05", told, missing, a_list)
    unknown = [
        a.refusal("topic_join", agent_name="a", **which) for which in ({"topic_id": NOBODY}, {"name": unique("nobody")})
    ]
    good = all(definite(answer, "TOPIC_NOT_FOUND") for answer in unknown)
    ctx.expect("topics.lease.06", good, f"an unknown id, an unknown name: {[said(each) for each in unknown]}")


@scenario("lease.duplicate")
def duplicate(ctx: Ctx) -> None:
    """A name that is taken is refused, not changed, and its owner stays who it is."""
    a, b = ctx.agent("a"), ctx.agent("b")
    one = topic(a)
    join(b, one, agent_name="twin")
    refused = a.refusal("topic_join", topic_id=one, agent_name="twin")
    owner = b.refusal("sync", topic_id=one, wait_seconds=0)
    good = definite(refused, "AGENT_NAME_IN_USE") and owner is None
    ctx.expect(
        "topics.lease.07",
        good,
        f"joined with a name that is taken: {said(refused)}; its owner's next sync: {said(owner)}",
    )
    names = {name: called(a, one, name) for name in ("twin", "Red-Squirrel")}
    good = all(got <= {name} for name, got in names.items())
    ctx.expect("topics.lease.08", good, f"asked for a name, was called: {names}")


@scenario("lease.reserved")
def reserved(ctx: Ctx) -> None:
    """A name stays its owner's when the owner's process is dead, on this topic and on no other."""
    a, b = ctx.agent("a"), ctx.agent("b")
    one, two = topic(a), topic(a)
    join(b, one)
    ctx.crash(b)
    refused = a.refusal("topic_join", topic_id=one, agent_name="b")
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
        one = topic(sessions[0])
        results = all_answered(ctx, *(lambda s=s: join(s, one, agent_name="twin") for s in sessions))
        return sorted("joined" if isinstance(r, dict) else getattr(r, "code", str(r)) for r in results)

    races = [race_once() for _ in range(RACES)]
    bad = [ends for ends in races if ends != ["AGENT_NAME_IN_USE", "AGENT_NAME_IN_USE", "joined"]]
    ctx.expect("topics.lease.11", not bad, f"in {len(bad)} of {RACES} races of three processes: {bad}")


@scenario("lease.reclaim")
def reclaim(ctx: Ctx) -> None:
    """After a restart the token, and nothing else, brings back the name and the place in the stream."""
    a, b = ctx.agent("a"), ctx.agent("b")
    one = topic(a)
    token, of_another = (join(session, one)["reclaim_token"] for session in (a, b))
    sync(b, one, "1", "2")
    sync(a, one)
    sync(b, one, "3")
    restart(ctx, a)
    tries: tuple[Row, ...] = ({}, {"reclaim_token": "0" * 32}, {"reclaim_token": of_another})
    answers = [a.refusal("topic_join", topic_id=one, agent_name="a", **given) for given in tries]
    good = all(definite(answer, "AGENT_NAME_IN_USE") for answer in answers)
    ctx.expect(
        "topics.lease.14",
        good,
        f"joined again without a token, with one that nobody has, with another "
        f"agent's: {[said(answer) for answer in answers]}",
    )
    again = join(a, one, reclaim_token=token)
    got = sync(a, one, "back")
    back = (again["agent_name"], again["topic_id"], got["sent"][0]["message"]["sender"])
    ctx.expect("topics.lease.12", back == ("a", one, "a"), f"a reclaimed its name, and is {back}: {again}")
    ctx.expect(
        "topics.lease.13", again["reclaim_token"] == token, f"the token was {token!r}, then {again['reclaim_token']!r}"
    )
    ctx.expect("topics.lease.15", bodies(got) == ["3"], f"1 and 2 were read before; then a read {bodies(got)}")


@scenario("lease.restart")
def restarted(ctx: Ctx) -> None:
    """A server that was started again has not joined; its client joins again."""
    a = ctx.agent("a")
    one = topic(a)
    token = join(a, one)["reclaim_token"]
    sync(a, one, "before")
    restart(ctx, a)
    refused = a.refusal("sync", topic_id=one, wait_seconds=0)
    join(a, one, reclaim_token=token)
    then = a.refusal("sync", topic_id=one, wait_seconds=0)
    ctx.expect(
        "topics.lease.16",
        definite(refused, "AGENT_NOT_JOINED") and then is None,
        f"a sync after the restart: {said(refused)}; after joining again: {said(then)}",
    )


@scenario("lease.not_joined")
def not_joined(ctx: Ctx) -> None:
    """An agent that has not joined a topic does not read it and does not send to it."""
    a = ctx.agent("a")
    one, two = topic(a), topic(a)

    def refusals(topic_id: str) -> list[Refused | None]:
        outboxes: tuple[Row, ...] = ({}, {"outbox": [{"content_markdown": "from nobody"}]})
        return [a.refusal("sync", topic_id=topic_id, wait_seconds=0, **outbox) for outbox in outboxes]

    nowhere = refusals(one)
    join(a, one)
    there = bodies(sync(a, one, include_self=True))
    good = all(definite(answer, "AGENT_NOT_JOINED") for answer in nowhere) and there == []
    ctx.expect(
        "topics.lease.17",
        good,
        f"read and sent without joining: {[said(each) for each in nowhere]}; then there was {there}",
    )
    elsewhere = refusals(two)
    good = all(definite(answer, "AGENT_NOT_JOINED") for answer in elsewhere)
    ctx.expect("topics.lease.18", good, f"joined to another topic, read and sent: {[said(e) for e in elsewhere]}")


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
    got = [join(a, topic(a))["reclaim_token"] for _ in range(3)]
    good = all(re.fullmatch("[0-9a-fA-F]{32}", token) for token in got) and len(set(got)) == len(got)
    ctx.expect("topics.lease.21", good, f"one name on three topics: {got}")


@scenario("lease.secret")
def secret(ctx: Ctx) -> None:
    """A session with the token holds its name, so nothing that another session is shown contains the token."""
    one, (a, b) = lane(ctx, "a", "b")
    token = a.call("topic_join", topic_id=one, agent_name="a")["reclaim_token"]
    sync(a, one, outbox=[{"content_markdown": "alpha"}])
    shown = {}
    looks: dict[str, dict[str, Any]] = {
        "sync": {"topic_id": one, "wait_seconds": 0, "include_self": True},
        "topic_list": {"status": "all"},
        "topic_resolve": {"name": b.call("topic_list")["topics"][0]["name"]},
    }
    looks |= {"topic_presence": {"topic_id": one}} if ctx.has("presence") else {}
    looks |= {"messages_search": {"query": "alpha", "include_content": True}} if ctx.has("search") else {}
    for method, params in looks.items():
        shown[method] = f"{b.call(method, **params)} {b.door.text if hasattr(b.door, 'text') else ''}"
    for given in ({}, {"reclaim_token": token[:-1]}, {"reclaim_token": "0" * 32}):
        shown[f"topic_join with {given}"] = str(b.refusal("topic_join", topic_id=one, agent_name="a", **given))
    shown["topic_join under that name on another topic"] = str(join(b, topic(b), agent_name="a"))
    said = [method for method, text in shown.items() if token in text]
    ctx.expect("topics.lease.29", not said, f"another session was shown the token by {', '.join(said)}")


@scenario("lease.expiry")
def expiry(ctx: Ctx) -> None:
    """An agent that has not been seen for a long time is not present, and keeps its name."""
    one, (a, b) = lane(ctx, "a", "b")
    sync(b, one)
    with database(ctx) as db:
        month_ago = (ctx.now_s - 30 * 86_400, one)
        db.execute("UPDATE cursors SET updated_at = ? WHERE topic_id = ? AND agent_name = 'b'", month_ago)
    refused = a.refusal("topic_join", topic_id=one, agent_name="b")
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
    one = topic(a, name=name)
    tokens = {session.agent: join(session, one)["reclaim_token"] for session in (a, b)}
    item = {"content_markdown": word, "client_message_id": "k"}
    first = sync(a, one, outbox=[item, {"content_markdown": "second"}])["sent"][0]["message"]
    sync(b, one, max_items=1)
    with database(ctx) as db:
        for table, times in TIMES.items():
            earlier = ", ".join(f"{column} = {column} - {YEARS_S}" for column in times)
            db.execute(f"UPDATE {table} SET {earlier} WHERE topic_id = ?", (one,))
    ctx.crash(a)
    ctx.crash(b)
    late, again = ctx.agent("late"), ctx.agent("again")
    join(late, one)
    unread = bodies(sync(late, one))
    refused = late.refusal("topic_join", topic_id=one, agent_name="b")
    told = f"joined with the name of who last synced years ago: {said(refused)}"
    ctx.expect("topics.lease.22", definite(refused, "AGENT_NAME_IN_USE"), told)
    join(again, one, agent_name="a", reclaim_token=tokens["a"])
    retried = again.refusal("sync", topic_id=one, wait_seconds=0, outbox=[item])
    join(again, one, agent_name="b", reclaim_token=tokens["b"])
    left = bodies(sync(again, one))
    resolved = late.refusal("topic_resolve", name=name)
    sent = sync(again, one, "to whom it concerns")["sent"][0]["message"]["seq"]
    for row, good, told in (
        ("topics.log.47", unread == [word, "second"], f"who came years later read {unread}"),
        ("topics.cursor.38", left == ["second"], f"one of two was read; years later came {left}"),
        ("topics.log.88", retried is None, f"a retry, years later, was {said(retried)}"),
        ("topics.log.61", sent == first["seq"] + 2, f"after a retry, years later, the third message has seq {sent}"),
        ("topics.route.10", resolved is None, f"years later the open topic {name} is {said(resolved)}"),
    ):
        if not good:  # the row of another item (decision 0033)
            ctx.expect(row, False, told)


@scenario("lease.upgrade")
def upgrade(ctx: Ctx) -> None:
    """On a topic of an older server nobody has a reservation: the first to join makes it, and reads on."""
    a, b = ctx.agent("a"), ctx.agent("b")
    topic(a)  # so that the tables are there
    one = older_topic(ctx)
    token = join(a, one)["reclaim_token"]
    refused = b.refusal("topic_join", topic_id=one, agent_name="a")
    rows = [(row["agent_name"], row["reclaim_token"]) for row in reservations(ctx, one)]
    got = bodies(sync(a, one))
    good = definite(refused, "AGENT_NAME_IN_USE") and rows == [("a", token)] and got == ["unread"]
    ctx.expect(
        "topics.lease.23",
        good,
        f"a joined and was given {token!r}; another then: {said(refused)}; the "
        f"reservations: {rows}; a read on with {got}",
    )


def older_topic(ctx: Ctx) -> str:
    """A topic from before there were reservations: a has read one of two messages."""
    one, now = unique("old"), ctx.now_s - 86_400
    with database(ctx) as db:
        db.execute("INSERT INTO topics (topic_id, name, created_at, status) VALUES (?, ?, ?, 'open')", (one, one, now))
        db.execute("INSERT INTO topic_seq (topic_id, next_seq, updated_at) VALUES (?, 3, ?)", (one, now))
        for seq, body in ((1, "read"), (2, "unread")):
            db.execute(
                "INSERT INTO messages (message_id, topic_id, seq, sender, message_type, content_markdown, created_at)"
                " VALUES (?, ?, ?, 'b', 'message', ?, ?)",
                (unique("m"), one, seq, body, now),
            )
        db.execute("INSERT INTO cursors (topic_id, agent_name, last_seq, updated_at) VALUES (?, 'a', 1, ?)", (one, now))
    return one


@scenario("lease.table")
def table(ctx: Ctx) -> None:
    """A name has one row with its token, however often it is claimed: other servers on the file rely on it."""
    a, b = ctx.agent("a"), ctx.agent("b")
    one = topic(a)
    wanted = [(session.agent, join(session, one)["reclaim_token"]) for session in (a, b)]
    before = reservations(ctx, one)
    join(a, one, reclaim_token=wanted[0][1])
    rows = reservations(ctx, one)
    kept = [[(row["agent_name"], row["reclaim_token"]) for row in some] for some in (before, rows)]
    timed = all(is_recent(ctx, row["created_at"]) and is_recent(ctx, row["last_claimed_at"]) for row in rows)
    ctx.expect(
        "topics.lease.24",
        kept == [wanted, wanted] and timed,
        f"the tokens are {wanted}; stored {before}, and after a claim again {rows}",
    )


@scenario("lease.take_over")
def take_over(ctx: Ctx) -> None:
    """A name is one session's at a time: the session that claims it by token has it, the other writes no more (B10)."""
    a, b = ctx.agent("a"), ctx.agent("b")
    one = topic(a)
    token = join(a, one)["reclaim_token"]
    sync(a, one, "from the first")
    join(b, one, agent_name="a", reclaim_token=token)
    refused = a.refusal("sync", topic_id=one, outbox=[{"content_markdown": "too late"}], wait_seconds=0)
    b.call("cursor_reset", topic_id=one, last_seq=0)
    there = bodies(sync(b, one, "from the second", include_self=True))
    good = definite(refused, "AGENT_NOT_JOINED") and there == ["from the first", "from the second"]
    ctx.expect(
        "topics.lease.25",
        good,
        f"the first session wrote after the second took its name: {said(refused)}; the topic holds {there}",
    )


@scenario("lease.taken_over")
def taken_over(ctx: Ctx) -> None:
    """Unread messages are the new holder's: the old session neither reads them nor moves the cursor (B10)."""
    a, b, writer = ctx.agent("a"), ctx.agent("b"), ctx.agent("writer")
    one = topic(a)
    token = join(a, one)["reclaim_token"]
    join(writer, one)
    sync(a, one)
    join(b, one, agent_name="a", reclaim_token=token)
    sync(writer, one, "1", "2")
    first = a.refusal("sync", topic_id=one, wait_seconds=0)
    left = bodies(sync(b, one))
    good = definite(first, "AGENT_NOT_JOINED") and left == ["1", "2"]
    ctx.expect("topics.lease.27", good, f"the first session read: {said(first)}; the second then read {left} of 1, 2")
    sync(writer, one, "3")
    refused = a.refusal("cursor_reset", topic_id=one, last_seq=3)
    left = bodies(sync(b, one))
    good = definite(refused, "AGENT_NOT_JOINED") and left == ["3"]
    ctx.expect("topics.lease.28", good, f"the first session reset: {said(refused)}; the second then read {left} of 3")
    calls: list[tuple[str, Row]] = [
        ("sync", {"wait_seconds": 0, "outbox": [{"content_markdown": "4"}]}),
        ("sync", {"wait_seconds": 0}),
        ("cursor_reset", {"last_seq": 0}),
        ("sync", {"wait_seconds": 0, "auto_advance": False, "ack_through": 1}),
    ]
    answers = [a.refusal(call, topic_id=one, **params) for call, params in calls]
    sent_away = [answer is not None and answer.code == "AGENT_NOT_JOINED" for answer in (first, refused, *answers)]
    why = f"the first session reads, resets, sends, reads, resets, acknowledges; is each AGENT_NOT_JOINED? {sent_away}"
    ctx.expect("topics.lease.32", sent_away == sorted(sent_away), why)


@scenario("lease.closed")
def closed(ctx: Ctx) -> None:
    """A join by name means an open topic, unless it says otherwise."""
    a = ctx.agent("a")
    name = unique()
    one = topic(a, name=name)
    a.call("topic_close", topic_id=one)
    refused = a.refusal("topic_join", agent_name="a", name=name)
    allowed = a.call("topic_join", agent_name="a", name=name, allow_closed=True)
    good = definite(refused) and (allowed["topic_id"], allowed["status"]) == (one, "closed")
    ctx.expect("topics.lease.26", good, f"joined a closed topic by name: {said(refused)}; with allow_closed: {allowed}")
