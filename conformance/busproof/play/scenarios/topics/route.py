"""route: topics are named lanes. They are made once, found by name, closed for good, and never mix."""

from __future__ import annotations

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
    sync,
    topic,
    turned_away,
    unique,
)
from busproof.play.suite import Ctx

ONE = [{"content_markdown": "one"}]
RACES = 6


def stored(ctx: Ctx, topic_id: str) -> Row:
    """A topic's row."""
    with database(ctx) as db:
        row = db.execute("SELECT * FROM topics WHERE topic_id = ?", (topic_id,)).fetchone()
        return dict(row) if row is not None else {}


def listed(session: Session, among: list[str], **params: Any) -> list[str]:
    """The entries of topic_list for these topics; other scripts make topics too."""
    shown = [row["topic_id"] for row in session.call("topic_list", **params)["topics"]]
    return [topic_id for topic_id in shown if topic_id in among]


@scenario("route.create")
def create(ctx: Ctx) -> None:
    """A topic is made under the name that was asked for, open to send to; without one it gets a name."""
    a = ctx.agent("a")
    name = unique("Parser")
    made = a.call("topic_create", name=name)
    join(a, made["topic_id"])
    sent = sync(a, made["topic_id"], "hello")["sent"]
    good = (made["name"], made["status"]) == (name, "open") and len(sent) == 1
    ctx.expect("topics.route.01", good, f"asked for {name!r}, got {made}; a message sent there: {sent}")
    try:
        nameless = a.call("topic_create")
    except Refused as refusal:
        ctx.expect("topics.route.05", False, said(refusal))
        return
    led_to = a.call("topic_resolve", name=nameless["name"])["topic_id"] if nameless["name"] else None
    ctx.expect("topics.route.05", led_to == nameless["topic_id"], f"made {nameless}; its name leads to {led_to}")


@scenario("route.reuse")
def reuse(ctx: Ctx) -> None:
    """Agents that agree on a name meet on its newest open topic; an agent that wants another asks for it."""
    a = ctx.agent("a")
    name = unique()
    first = a.call("topic_create", name=name)["topic_id"]
    again = a.call("topic_create", name=name)["topic_id"]
    second = a.call("topic_create", name=name, mode="new")["topic_id"]
    ctx.expect("topics.route.03", second != first, f"mode new gave {second}, which was there before")
    newest = a.call("topic_create", name=name)["topic_id"]
    a.call("topic_close", topic_id=second)
    left = a.call("topic_create", name=name)["topic_id"]
    good = (again, newest, left) == (first, second, first)
    ctx.expect(
        "topics.route.02",
        good,
        f"{first} and then {second} were made; reuse gave {again} before the second, {newest} after it, "
        f"{left} once the second was closed",
    )


@scenario("route.create_race")
def create_race(ctx: Ctx) -> None:
    """Processes that ask for one name at once meet (B2)."""
    sessions = [ctx.agent(name) for name in "abc"]

    def race() -> set[str]:
        name = unique()
        answers = all_answered(ctx, *(lambda s=s: s.call("topic_create", name=name, mode="reuse") for s in sessions))
        return {reply["topic_id"] if isinstance(reply, dict) else f"error: {reply}" for reply in answers}

    apart = [ids for ids in (race() for _ in range(RACES)) if len(ids) > 1 or "error" in str(ids)]
    ctx.expect("topics.route.04", not apart, f"{RACES} times three processes asked at once, and got {apart}")


@scenario("route.lanes")
def lanes(ctx: Ctx) -> None:
    """A message is an entry of its topic's stream, and of no other."""
    first_id, (a, b) = lane(ctx, "a", "b")
    two = topic(a)
    join(a, two)
    join(b, two)
    sync(a, first_id, "on one")
    sync(a, two, "on two")
    came = {name: bodies(sync(b, where)) for name, where in (("one", first_id), ("two", two))}
    good = came == {"one": ["on one"], "two": ["on two"]}
    ctx.expect("topics.route.07", good, f"a sent a message to each of two topics; b received {came}")


@scenario("route.close")
def close(ctx: Ctx) -> None:
    """Nobody sends to a closed topic, not even the agent that closed it; earlier messages are still read."""
    topic_id, (a, b) = lane(ctx, "a", "b")
    sync(a, topic_id, "before")
    reply = a.call("topic_close", topic_id=topic_id)
    shown = [row for row in a.call("topic_list")["topics"] if row["topic_id"] == topic_id]
    good = reply["topic_id"] == topic_id and all(row["status"] == "closed" for row in shown)
    ctx.expect("topics.route.13", good, f"topic_close answered {reply}; topic_list then shows {shown}")
    refused = [s.refusal("sync", topic_id=topic_id, outbox=ONE, wait_seconds=0, auto_advance=False) for s in (a, b)]
    came = bodies(sync(b, topic_id))
    good = all(definite(answer, "TOPIC_CLOSED") for answer in refused) and "one" not in came
    ctx.expect(
        "topics.route.14",
        good,
        f"sent after the close by both, {[said(each) for each in refused]}; received then: {came}",
    )
    ctx.expect("topics.route.15", came[:1] == ["before"], f"one message was sent before the close; read: {came}")


@scenario("route.close_row")
def close_row(ctx: Ctx) -> None:
    """When and why a topic was closed stands in its row."""
    a = ctx.agent("a")
    with_reason, without, still_open = (topic(a) for _ in range(3))
    a.call("topic_close", topic_id=with_reason, reason="all done; merci à tous")
    a.call("topic_close", topic_id=without)
    rows = [stored(ctx, topic_id) for topic_id in (with_reason, without, still_open)]
    timed = [is_recent(ctx, row.get("closed_at")) for row in rows] == [True, True, False]
    reasons = [row.get("close_reason") or None for row in rows]
    good = timed and rows[2].get("closed_at") is None and reasons == ["all done; merci à tous", None, None]
    ctx.expect("topics.route.16", good, f"closed with a reason, without one, and still open: {rows}")


@scenario("route.closed_is_not_reused")
def closed_is_not_reused(ctx: Ctx) -> None:
    """Under the name of a closed topic a new one is made."""
    a = ctx.agent("a")
    name = unique()
    first = a.call("topic_create", name=name, mode="reuse")
    a.call("topic_close", topic_id=first["topic_id"])
    second = a.call("topic_create", name=name, mode="reuse")
    good = second["topic_id"] != first["topic_id"] and second["status"] == "open"
    ctx.expect("topics.route.18", good, f"{first} was closed; the same name then gave {second}")


@scenario("route.bad_status")
def bad_status(ctx: Ctx) -> None:
    """A status that no topic can have is a mistake, and not an empty list."""
    answers = {status: ctx.agent("a").refusal("topic_list", status=status) for status in ("gone", "OPEN", "")}
    answered = {status: said(answer) for status, answer in answers.items()}
    turned_away(ctx, "topics.route.21", f"topic_list by status: {answered}", *answers.values())


@scenario("route.two_processes")
def two_processes(ctx: Ctx) -> None:
    """When one process makes a topic, the other finds it at once; when one closes it, it is closed for the other."""
    a, b = ctx.agent("a"), ctx.agent("b")
    seen = []
    for maker, other in ((a, b), (b, a)):
        name = unique()
        made = maker.call("topic_create", name=name)["topic_id"]
        led_to = other.call("topic_resolve", name=name)["topic_id"]
        join(other, made)
        sync(other, made, "while it is open")
        maker.call("topic_close", topic_id=made)
        refused = other.refusal("sync", topic_id=made, outbox=ONE, wait_seconds=0)
        seen.append((made == led_to and definite(refused, "TOPIC_CLOSED"), made, led_to, said(refused)))
    good = all(each[0] for each in seen)
    ctx.expect(
        "topics.route.20",
        good,
        f"made by one process, found by the other, sent to by the other after the "
        f"first closed it; both ways: {[each[1:] for each in seen]}",
    )
