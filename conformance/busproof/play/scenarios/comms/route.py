"""route: which agent is shown which message, in which order; and how an answer finds its question."""

from __future__ import annotations

import time
from typing import Any

from busproof.play.scenarios.common import at_once, definite, ids, said
from busproof.play.scenarios.comms.common import (
    claim,
    complete,
    database,
    fail,
    receive,
    scenario,
    sees,
    send,
    stored,
    stranger_sends,
)
from busproof.play.suite import Ctx


@scenario("route.channels")
def channels(ctx: Ctx) -> None:
    """Only the channels that were asked for, and all of them."""
    a, b = ctx.agent("a"), ctx.agent("b")
    names = {channel: send(a, "b", channel=channel) for channel in ("general", "urgent", "General", "gen%", "x y")}
    came = {channel: ids(receive(b, channel)) for channel in names}
    ctx.expect("comms.route.01", came == {c: [n] for c, n in names.items()}, f"one message a channel: {came}")
    several = ids(receive(b, "general", "x y"))
    ctx.expect("comms.route.02", set(several) == {names["general"], names["x y"]}, f"two channels gave {several}")
    nothing = ids(receive(b, "elsewhere"))
    ctx.expect("comms.route.03", nothing == [], f"a channel that nobody used gave {nothing}")


@scenario("route.addressed")
def addressed(ctx: Ctx) -> None:
    """A message to one agent is shown to it alone, a broadcast to everybody."""
    a, b, c = (ctx.agent(name) for name in "abc")
    to_b, to_all = send(a, "b"), send(a)
    came = {session.agent: set(ids(receive(session))) for session in (a, b, c)}
    ctx.expect("comms.route.04", to_b in came["b"], f"a message to b was not shown to b: {came}")
    ctx.expect("comms.route.05", to_b not in came["a"] | came["c"], f"a message to b was shown to others: {came}")
    ctx.expect("comms.route.06", all(to_all in g for g in came.values()), f"a broadcast was shown to {came}")


@scenario("route.order", needs=("clock",))
def order(ctx: Ctx) -> None:
    """Highest priority first, then oldest first, on one channel and over several."""
    a, b = ctx.agent("a"), ctx.agent("b")
    sent: list[tuple[int, int, str]] = []
    for place, priority in enumerate((5, 1, 10, 5, 9, 1, 10, 2)):
        ctx.advance(1_000)
        sent.append((-priority, place, send(a, "b", priority=priority, channel=("general", "c2")[place // 2 % 2])))
    wanted = [name for *_, name in sorted(sent)]
    both = ids(receive(b, "general", "c2"))
    levels = [-p for p, *_ in sorted(sent)]
    ctx.expect("comms.route.07", both == wanted, f"sent with priorities {levels}; wanted {wanted}, received {both}")
    own = ids(receive(b))
    ctx.expect("comms.route.08", own == [n for n in wanted if n in own] and len(own) == 4, f"one channel gave {own}")
    few = ids(receive(b, "general", "c2", limit=3))
    ctx.expect("comms.route.09", few == wanted[:3], f"a limit of 3 gave {few}, the first three are {wanted[:3]}")


@scenario("route.ties", needs=("clock",))
def ties(ctx: Ctx) -> None:
    """Messages of one priority and one moment come in the order of sending."""
    a, b = ctx.agent("a"), ctx.agent("b")
    names = [send(a, "b") for _ in range(12)]
    came = ids(receive(b))
    ctx.expect("comms.route.10", came == names, f"sent at one moment in the order {names}, received {came}")


@scenario("route.limit")
def limit(ctx: Ctx) -> None:
    """At most as many as asked for; ten by default."""
    a, b = ctx.agent("a"), ctx.agent("b")
    for _ in range(14):
        send(a, "b")
    counts = [len(receive(b, limit=number)) for number in (1, 5, 14, 100)]
    unsaid = len(b.call("receive_messages", channels=["general"])["messages"])
    ctx.expect("comms.route.11", counts == [1, 5, 14, 14], f"limits of 1, 5, 14 and 100 gave {counts}")
    ctx.expect("comms.route.12", unsaid == 10, f"without a limit {unsaid} of 14 messages were received")


@scenario("route.read_only")
def read_only(ctx: Ctx) -> None:
    """Receiving claims nothing and changes nothing."""
    a, b = ctx.agent("a"), ctx.agent("b")
    name = send(a, "b")
    before = a.call("dump") if ctx.has("dump") else None
    first, second = receive(b), receive(b)
    after = a.call("dump") if ctx.has("dump") else None
    ctx.expect("comms.route.13", first == second != [], f"received {first}, then {second}")
    ctx.expect("comms.route.14", before == after, "receiving changed the store")
    ctx.expect("comms.route.15", claim(b, name), "a message that was received could not be claimed")


@scenario("route.waits", needs=("wait",))
def waits(ctx: Ctx) -> None:
    """A reader waits until a message comes, or until its time is over."""
    a, b = ctx.agent("a"), ctx.agent("b")
    started = time.monotonic()
    nothing = receive(b, timeout_seconds=0.3)
    waited_s = time.monotonic() - started
    ctx.expect(
        "comms.route.16",
        nothing == [] and waited_s >= 0.29,
        f"with nothing to receive and a time-out of 0.3 s: {nothing} after {waited_s:.2f} s",
    )

    def later() -> Any:
        time.sleep(0.15)
        return {"id": send(a, "b")}

    started = time.monotonic()
    came, sent = at_once(lambda: {"messages": receive(b, timeout_seconds=8)}, later)
    took_s = time.monotonic() - started
    names = ids(came["messages"]) if isinstance(came, dict) else []
    good = isinstance(sent, dict) and names == [sent["id"]] and took_s < 6
    ctx.expect("comms.route.17", good, f"sent while a reader waited up to 8 s: it got {names} after {took_s:.1f} s")
    started = time.monotonic()
    there = receive(b, timeout_seconds=8)
    ctx.expect(
        "comms.route.18",
        len(there) == 1 and time.monotonic() - started < 6,
        "a reader waited though a message was there",
    )


@scenario("route.comes_back_while_one_waits", needs=("wait",))
def comes_back_while_one_waits(ctx: Ctx) -> None:
    """A message that failed is pending again after a second or so, and nobody writes anything by then."""
    a, b = ctx.agent_in_real_time("a"), ctx.agent_in_real_time("b")
    name = send(a, "b")
    failed = fail(b, name)
    began_s = time.monotonic()
    came = receive(b, timeout_seconds=20)
    took_s = time.monotonic() - began_s
    if failed and not came and not sees(b, name):
        ctx.expect("comms.retry.02", False, "a message that failed once is never claimable again")
        return
    good = failed and ids(came) == [name] and took_s < 15
    ctx.expect(
        "comms.route.47", good, f"it failed, somebody waited up to 20 s, and got {ids(came)} after {took_s:.1f} s"
    )


@scenario("route.subscriptions")
def subscriptions(ctx: Ctx) -> None:
    """Subscribe, twice is once, unsubscribe, and every agent its own."""
    a, b = ctx.agent("a"), ctx.agent("b")

    def of(session: Any) -> list[str]:
        channels_: list[str] = sorted(session.call("get_subscribed_channels")["channels"])
        return channels_

    ctx.expect("comms.route.19", of(a) == [], f"an agent that never subscribed has {of(a)}")
    for channel in ("general", "urgent", "general"):
        a.call("subscribe_to_channel", channel_name=channel)
    b.call("subscribe_to_channel", channel_name="b only")
    ctx.expect("comms.route.20", of(a) == ["general", "urgent"], f"a subscribed to general and urgent: {of(a)}")
    ctx.expect("comms.route.21", of(b) == ["b only"], f"b subscribed to one channel: {of(b)}")
    a.call("unsubscribe_from_channel", channel_name="general")
    a.call("unsubscribe_from_channel", channel_name="never")
    ctx.expect("comms.route.22", of(a) == ["urgent"], f"after unsubscribing from general: {of(a)}")
    fresh = ctx.agent("a")
    ctx.expect("comms.route.23", of(fresh) == ["urgent"], f"another process of the agent finds {of(fresh)}")


@scenario("route.response")
def response(ctx: Ctx) -> None:
    """The answer goes back to the sender, with the same correlation id and the path of an artifact."""
    a, b = ctx.agent("a"), ctx.agent("b")
    send(a, "b", message_type="context.query", payload={"query": "q"}, correlation_id="c-1", channel="work", priority=8)
    request = receive(b, "work")[0]
    claim(b, request["id"])
    path = ".claude/artifacts/b/t/result.json"
    answer = b.call(
        "send_response", original_message=request, response_payload={"context": {"k": 1}}, artifact_path=path
    )["message_id"]
    complete(b, request["id"])
    came = [message for message in receive(a, "work", "general") if message["id"] == answer]
    row = came[0] if came else {}
    ctx.expect("comms.route.24", row.get("correlation_id") == "c-1", f"the answer's correlation_id: {row}")
    ctx.expect("comms.route.25", row.get("from_agent") == "b", f"from_agent is not the request's to_agent: {row}")
    ctx.expect("comms.route.26", row.get("to_agent") == "a", f"to_agent is not the request's from_agent: {row}")
    payload = row.get("payload", {})
    ctx.expect("comms.route.27", payload == {"context": {"k": 1}, "artifact_path": path}, f"payload: {payload}")
    good = (row.get("type"), row.get("channel"), row.get("priority")) == ("context.response", "work", 8)
    ctx.expect("comms.route.28", good, f"the answer to a context.query on `work` of priority 8: {row}")
    send(a, "b", message_type="do", channel="work")
    other = next(m for m in receive(b, "work") if m["type"] == "do")
    b.call("send_response", original_message=other, response_payload={})
    linked = [m for m in receive(a, "work") if m.get("correlation_id") == other["id"]]
    ctx.expect("comms.route.29", len(linked) == 1, "a request without correlation_id was answered without a link")


@scenario("route.response_to_broadcast")
def response_to_broadcast(ctx: Ctx) -> None:
    """The agent that claimed a broadcast is the sender of its answer (C5)."""
    a, b = ctx.agent("a"), ctx.agent("b")
    send(a, message_type="context.query", payload={"query": "q"}, correlation_id="c-2")
    request = receive(b)[0]
    claim(b, request["id"])
    refused = b.refusal("send_response", original_message=request, response_payload={"context": {}})
    came = [
        message for message in receive(a) if message.get("correlation_id") == "c-2" and message["id"] != request["id"]
    ]
    who = [(message["from_agent"], message["to_agent"]) for message in came]
    ctx.expect("comms.route.30", refused is None and who == [("b", "a")], f"{said(refused)}; the answers: {who}")


@scenario("route.bad_response")
def bad_response(ctx: Ctx) -> None:
    """A value that is no envelope cannot be answered; a path outside of the artifacts is refused."""
    a, b = ctx.agent("a"), ctx.agent("b")
    send(a, "b", message_type="do")
    request = receive(b)[0]
    bad = [
        b.refusal("send_response", original_message={"type": "x"}, response_payload={}),
        b.refusal("send_response", original_message=request, response_payload={}, artifact_path="/etc/passwd"),
        b.refusal(
            "send_response", original_message=request, response_payload={}, artifact_path=".claude/artifacts/../x"
        ),
    ]
    good = all(definite(answer) for answer in bad) and receive(a) == []
    ctx.expect("comms.route.31", good, f"{[said(answer) for answer in bad]}; a received {receive(a)}")


@scenario("route.answer_of_another")
def answer_of_another(ctx: Ctx) -> None:
    """One agent cannot answer a question to another, nor a broadcast that it has not claimed (C26)."""
    a, b, c = ctx.agent("a"), ctx.agent("b"), ctx.agent("c")
    ends = []
    for to in ("b", None):
        name = send(a, to, message_type="do")
        request = next(message for message in receive(b) if message["id"] == name)
        ends.append(c.refusal("send_response", original_message=request, response_payload={}))
    answers = [message["type"] for message in receive(a) if message["to_agent"] == "a"]
    good = all(definite(answer) for answer in ends) and answers == []
    ctx.expect("comms.route.42", good, f"c answered for b: {[said(answer) for answer in ends]}; a received {answers}")


@scenario("route.answers_of_one_each")
def answers_of_one_each(ctx: Ctx) -> None:
    """A broadcast lies in front of each agent on its own: b's claim, and its end, give c nothing to answer."""
    a, b, c = ctx.agent("a"), ctx.agent("b"), ctx.agent("c")
    refusals = []
    for steps in ((), (claim,), (claim, complete)):
        name = send(a, message_type="do")
        request = next(message for message in receive(c) if message["id"] == name)
        for step in steps:
            step(b, name)
        refusals.append(c.refusal("send_response", original_message=request, response_payload={}))
    good = len({answer is None for answer in refusals}) == 1
    why = "c, which claims nothing, answers a broadcast before b claims it, after that, and when b is done: "
    ctx.expect("comms.route.45", good, f"{why}{[said(answer) for answer in refusals]}")


@scenario("route.request", needs=("request", "wait"))
def request(ctx: Ctx) -> None:
    """The helper waits for its own answer, behind all other messages that lie there, and completes it."""
    a, b = ctx.agent("a"), ctx.agent("b")
    for _ in range(15):
        send(b, "a", priority=10)

    def answer() -> Any:
        asked = receive(b, timeout_seconds=8)[0]
        claim(b, asked["id"])
        b.call("send_response", original_message=asked, response_payload={"context": {"n": 7}})
        complete(b, asked["id"])
        return asked

    question: dict[str, Any] = {"to_agent": "b", "message_type": "context.query", "payload": {"query": "q"}}
    reply, asked = at_once(lambda: a.call("request", timeout_seconds=8, **question), answer)
    answered = reply["response"] if isinstance(reply, dict) else {}
    good = answered.get("payload") == {"context": {"n": 7}}
    ctx.expect("comms.route.32", good, f"15 others lay in front of the answer; the request ended with {reply}")
    linked = (
        isinstance(asked, dict)
        and bool(asked.get("correlation_id"))
        and (answered.get("correlation_id") == asked["correlation_id"])
    )
    ctx.expect("comms.route.33", linked, f"asked {asked}, answered {answered}")
    ctx.expect("comms.route.34", bool(answered) and not sees(a, answered["id"]), "the answer was not completed")
    started = time.monotonic()
    late = a.refusal("request", timeout_seconds=0.2, **question)
    waited_s = time.monotonic() - started
    ctx.expect(
        "comms.route.35",
        late is not None and late.code == "TIMEOUT" and waited_s >= 0.19,
        f"nobody answered for 0.2 s: {said(late)}, after {waited_s:.2f} s",
    )
    limit_ms = ctx.hello.limits.get("request_timeout_ms")
    if limit_ms is not None:
        ctx.expect("comms.route.36", limit_ms == 30_000, f"hello declares request_timeout_ms {limit_ms}")
        return
    started = time.monotonic()  # it does not tell, so it is waited out
    late = a.refusal("request", timeout_s=90, **question)
    waited_s = time.monotonic() - started
    is_kept = late is not None and late.code == "TIMEOUT" and waited_s >= 29.5
    ctx.expect("comms.route.36", is_kept, f"nobody answered, without timeout_seconds: {said(late)}, {waited_s:.1f} s")


@scenario("route.a_stranger_claims", needs=("sqlite",))
def a_stranger_claims(ctx: Ctx) -> None:
    """A message that a process with SQLite bindings took or did is not shown, and a broadcast's row stays as it was."""
    a, b = ctx.agent("a"), ctx.agent("b")
    taken, done = send(a, "b"), send(a, "b")
    stranger_sends(ctx, "00000000-0000-4000-8000-000000000003", to_agent="b", timestamp="2026-01-10T14:00:00.5Z")
    with database(ctx) as db:
        db.execute(
            "UPDATE messages SET status = 'processing', last_delivered_at = '2026-01-10T14:00:00Z' WHERE id = ?",
            (taken,),
        )
        db.execute("UPDATE messages SET status = 'done' WHERE id = ?", (done,))
    shown = ids(receive(b))
    good = shown == ["00000000-0000-4000-8000-000000000003"] and not claim(b, taken) and not claim(b, done)
    ctx.expect("comms.route.37", good, f"a stranger took one message and did another; b received {shown}")
    shared = send(a)
    claim(b, shared)
    complete(b, shared)
    row = stored(ctx, shared)
    ctx.expect("comms.route.38", row.get("status") == "pending", f"a broadcast that one agent did: {row}")


@scenario("route.shown_is_claimable", needs=("clock", "sqlite"))
def shown_is_claimable(ctx: Ctx) -> None:
    """A message failed; a process with SQLite bindings took it when it was due; it is in that process's hands (C27)."""
    a, b = ctx.agent("a"), ctx.agent("b")
    taken, free = send(a, "b"), send(a, "b")
    for name in (taken, free):
        claim(b, name)
        complete(b, name, "it broke")
    ctx.advance(10_000)
    with database(ctx) as db:
        db.execute(
            "UPDATE messages SET status = 'processing', last_delivered_at = '9999-01-01T00:00:00Z' WHERE id = ?",
            (taken,),
        )
    shown = ids(receive(b))
    a.call("cleanup_expired_messages")
    later = ids(receive(b))
    good = shown == later == [free] and not claim(b, taken) and claim(b, free)
    ctx.expect("comms.route.43", good, f"of {taken}, a stranger's, and {free} b received {shown}, then {later}")


@scenario("route.unnamed_rows", needs=("sqlite",))
def unnamed_rows(ctx: Ctx) -> None:
    """SQLite stores NULL and bytes as a primary key of type TEXT; no claim can name them (C27)."""
    a, b = ctx.agent("a"), ctx.agent("b")
    odd: tuple[Any, ...] = (None, b"\xff\xfe")
    for row_id in odd:
        stranger_sends(ctx, row_id, to_agent="b", priority=10)
    name = send(a, "b")
    shown = [message["id"] for message in receive(b, limit=2)]
    ctx.expect("comms.route.44", shown == [name], f"rows with the ids {odd} lie in front of {name}; b received {shown}")
