"""limit: a call that is too large or makes no sense is refused, definitely, with a code, and the bus lives."""

from __future__ import annotations

import json
from typing import Any

from busproof.bus.base import Lost, Refused
from busproof.bus.session import Session
from busproof.bus.stdio import StdioDoor
from busproof.contract.worker import WORKER_METHODS
from busproof.play.scenarios.common import untrue_limits
from busproof.play.scenarios.worker.blob import columns, text_of_bytes
from busproof.play.scenarios.worker.common import definite, ids, poll, publish, raced, said, scenario
from busproof.play.suite import Ctx

GOOD: dict[str, dict[str, Any]] = {
    "publish": {"agent_id": "a", "message": {"type": "t"}},
    "publish_many": {"agent_id": "a", "messages": [{"type": "t"}]},
    "poll": {"agent_id": "a", "limit": 10},
    "ack": {"agent_id": "a", "seq": 0},
    "process_loop": {"agent_id": "a", "limit": 1, "fail_ids": []},
    "try_claim_task": {"task_id": "t", "agent_id": "a"},
    "renew_claim": {"task_id": "t", "agent_id": "a"},
    "release_claim": {"task_id": "t", "agent_id": "a"},
    "heartbeat": {"agent_id": "a", "status": "idle"},
    "save_blob": {"content": 1},
    "load_blob": {"ref": "sha256-" + "0" * 64},
    "search": {"query": "word", "limit": 10},
    "status": {"limit": 10},
    "dead_letters": {"agent_id": "a"},
    "redrive": {"agent_id": "a", "seq": 1},
    "worker_state": {"worker": "w"},
    "transition": {"worker": "w", "from_state": None, "to_state": "ASSIGNED"},
}
NAMES = ("agent_id", "task_id", "worker")


def offered(ctx: Ctx) -> dict[str, dict[str, Any]]:
    """The calls above that this bus declares."""
    return {
        name: params
        for name, params in GOOD.items()
        if (noun := WORKER_METHODS[name].noun) is None
        or (ctx.has(noun) and ((feature := WORKER_METHODS[name].feature) is None or ctx.has(feature)))
    }


def soft_spots(ctx: Ctx, session: Session, cases: list[tuple[str, dict[str, Any]]]) -> list[str]:
    """The bad calls that were not refused with a definite error."""
    soft = []
    for method, params in cases:
        try:
            answer = session.refusal(method, **params)
        except Lost as error:
            soft.append(f"{method} {_short(params)}: no answer, {error}")
            session.retired = True
            ctx.blame()
            return soft
        if not definite(answer) or not answer or not answer.code:
            soft.append(f"{method} {_short(params)}: {said(answer)}")
            ctx.blame()
    return soft


def _short(params: dict[str, Any]) -> str:
    return ascii(params)[:160]


def _message(**fields: Any) -> dict[str, Any]:
    return {"agent_id": "a", "message": {"type": "t", **fields}}


@scenario("limit.fields")
def fields(ctx: Ctx) -> None:
    """Every operation without one of its parameters, and with one that nobody knows."""
    a = ctx.agent("a")
    optional = {"limit", "fail_ids", "from_state"}
    cases: list[tuple[str, dict[str, Any]]] = []
    for method, params in offered(ctx).items():
        cases += [(method, {**params, "surprise": 1})]
        for name in params.keys() - optional - {"agent_id"}:
            cases.append((method, {key: value for key, value in params.items() if key != name}))
        if "agent_id" in params:
            cases.append((method, {**params, "agent_id": None}))
    cases += [("publish", {"agent_id": "a", "message": {}}), ("publish", _message(surprise=1))]
    cases += [("publish", _message(seq=7)), ("publish", _message(payload_ref="sha256-" + "0" * 64))]
    soft = soft_spots(ctx, a, cases)
    ctx.expect(
        "worker.limit.02", not soft, f"{len(soft)} of {len(cases)} calls with missing or extra fields: {soft[:5]}"
    )


@scenario("limit.too_large")
def too_large(ctx: Ctx) -> None:
    """A payload over the declared limit is refused, by one byte too, and the next one is not."""
    a = ctx.agent("a")
    declared = ctx.hello.limits.get("payload_bytes_max", 0)
    size = max(10_000_000, declared + 1)
    cases: list[tuple[str, dict[str, Any]]] = [("publish", _message(payload="x" * size))]
    if 2 <= declared < size:  # with its quotes, a byte more than was declared
        cases += [("publish", _message(payload="x" * (declared - 1)))]
    cases += [("save_blob", {"content": "x" * size})] if ctx.has("blob") else []
    cases += [("publish", _message(id="x" * 1_000_000)), ("publish", _message(type="t" * 1_000_000))]
    soft = soft_spots(ctx, a, cases)
    stored = ids(poll(a))
    ctx.expect(
        "worker.limit.07",
        not soft and not stored,
        f"10 MB payloads, more than is declared, 1 MB names: {soft}; stored: {stored}",
    )


@scenario("limit.declared")
def declared(ctx: Ctx) -> None:
    """Each limit that hello tells is the limit: so much is taken, and one more is not."""
    a = ctx.agent("a")

    def published(field: str, value: Any) -> Refused | None:
        of_call = {"agent_id": "a", "message": {"type": "t"}}
        return a.refusal("publish", **(of_call | {field: value} if field in of_call else _message(**{field: value})))

    wrong = untrue_limits(ctx, published)
    inline = ctx.hello.limits.get("inline_payload_bytes_max")
    if inline is not None and ctx.has("blob", "sqlite"):
        for name, size in (("inline", inline), ("blob", inline + 1)):
            publish(a, id=name, payload=text_of_bytes(size))
            payload, ref = columns(ctx, name)
            if (payload is None, ref is None) != (name == "blob", name == "inline"):
                wrong.append(f"inline_payload_bytes_max is {inline}; {size} bytes are in the row: {ref is None}")
    if (now_ms_max := ctx.hello.limits.get("now_ms_max")) is not None and ctx.hello.clock == "manual":
        a.set_clock(now_ms_max)
    ctx.expect("worker.limit.18", not wrong, "; ".join(wrong))


@scenario("limit.nothing_stored")
def nothing_stored(ctx: Ctx) -> None:
    """After every kind of refused call the store is what it was."""
    a = ctx.agent("a")
    publish(a, id="m1", to="a", payload=1)
    if ctx.has("lease"):
        a.call("try_claim_task", task_id="held")
    before = _state(ctx, a)
    calls = offered(ctx).items()
    cases: list[tuple[str, dict[str, Any]]] = [(method, {**params, "surprise": 1}) for method, params in calls]
    cases += [(method, {**params, n: "a\0b"}) for method, params in calls for n in NAMES if n in params]
    cases += [("publish", _message(id="m2", type=None)), ("publish", _message(id="m3", payload=float("nan")))]
    cases += [("publish", _message(id="m4", payload="x" * 10_000_000)), ("ack", {"agent_id": "a", "seq": 10**9})]
    cases += [("publish", _message(id="m1", payload=2)), ("publish", _message(id="m5", payload="\ud800"))]
    for method, params in cases:
        a.refusal(method, **params)
    after = _state(ctx, a)
    ctx.expect("worker.limit.09", before == after, f"before {len(cases)} bad calls: {before}; after: {after}")


def _state(ctx: Ctx, session: Session) -> Any:
    if not ctx.has("dump"):
        return poll(session)
    dump = session.call("dump")
    rows = ("messages", "cursors", "task_claims", "heartbeats", "archived", "dead_letters")
    return json.dumps([dump.get(name) for name in rows], sort_keys=True)


@scenario("limit.process_lives")
def process_lives(ctx: Ctx) -> None:
    """After every bad call the same process answers the next good one."""
    a = ctx.agent("a")
    dead = []
    for method, params in offered(ctx).items():
        for bad in ({**params, "surprise": 1}, dict.fromkeys(params), {n: float("nan") for n in params}):
            try:
                a.refusal(method, **bad)
                poll(a)
            except (Lost, Refused) as error:
                dead.append(f"after {method} {_short(bad)}: {error}")
                break
        if a.retired:
            break
    publish_after = None if a.retired else publish(a, id="alive")
    good = not dead and publish_after is not None
    ctx.expect("worker.limit.10", good, f"a good call after a bad one failed: {dead}")


@scenario("limit.raw_lines")
def raw_lines(ctx: Ctx) -> None:
    """Lines that are no requests are answered with an error, one each, and the session goes on."""
    a = ctx.agent("a")
    soft = []
    if isinstance(a.door, StdioDoor):
        for line in (
            b"{not json",
            b"[]",
            b"7",
            b'"x"',
            b"{}",
            b'{"jsonrpc":"2.0","id":1}',
            b"\xff\xfe",
            b"[" * 100_000,
        ):
            try:
                a.door.send_line(line)
                answer = json.loads(a.door.receive_line(f"the line {line[:20]!r}", timeout_s=10))
                if "error" not in answer:
                    soft.append(f"{line[:20]!r}: {answer}")
            except (Lost, ValueError) as error:
                soft.append(f"{line[:20]!r}: {error}")
                break
    lives = None
    try:
        lives = publish(a, id="alive")["id"]
    except (Lost, Refused) as error:
        soft.append(f"the next good call: {error}")
    ctx.expect("worker.limit.11", not soft and lives == "alive", f"lines that are no requests: {soft}")


@scenario("limit.unknown_method")
def unknown_method(ctx: Ctx) -> None:
    """An unknown method is -32601, and the session goes on."""
    a = ctx.agent("a")
    refusal = a.refusal("no_such_method")
    alive = publish(a)["id"]
    good = refusal is not None and refusal.rpc == -32601 and bool(alive)
    number = refusal.rpc if refusal else None
    ctx.expect("worker.limit.12", good, f"an unknown method was answered with {number}: {said(refusal)}")


@scenario("limit.backpressure", needs=("backpressure",), unread_max=3)
def backpressure(ctx: Ctx) -> None:
    """The fourth unread message of a recipient is refused; others are not; an ack makes room."""
    a, b = ctx.agent("a"), ctx.agent("b")
    for number in range(3):
        publish(a, id=f"m{number}", to="b")
    full = a.refusal("publish", message={"id": "m3", "type": "note", "to": "b"})
    other = a.refusal("publish", message={"id": "c0", "type": "note", "to": "c"})
    messages = poll(b)
    good = definite(full, "BACKPRESSURE") and other is None and ids(messages) == ["m0", "m1", "m2"]
    why = f"the 4th for b: {said(full)}; one for c: {said(other)}; b has {ids(messages)}"
    ctx.expect("worker.limit.13", good, why)
    for _ in range(2):
        publish(a, to="f")
    raced(ctx, *(lambda s=s: publish(s, to="f") for s in (a, ctx.agent("d"), ctx.agent("e"))))
    count = len(poll(ctx.agent("f")))
    ctx.expect("worker.limit.13", count == 3, f"two unread, a bound of 3, and three more sent at once: {count} stored")
    if ctx.has("publish_many"):
        batch = [{"type": "note", "to": "g"} for _ in range(4)]
        whole = a.refusal("publish_many", messages=batch)
        stored = poll(ctx.agent("g"))
        good = definite(whole, "BACKPRESSURE") and not stored
        ctx.expect("worker.limit.13", good, f"a batch of 4 over a bound of 3: {said(whole)}; stored {ids(stored)}")
    b.call("ack", seq=messages[0]["seq"])
    again = a.refusal("publish", message={"id": "m3", "type": "note", "to": "b"})
    retried = a.refusal("publish", message={"id": "m3", "type": "note", "to": "b"})
    then = a.refusal("publish", message={"id": "m4", "type": "note", "to": "b"})
    good = again is None and retried is None and definite(then, "BACKPRESSURE")
    why = f"after one ack: {said(again)}; a retry of it: {said(retried)}; one more: {said(then)}"
    ctx.expect("worker.limit.14", good, why)


@scenario("limit.backpressure_is_off")
def backpressure_is_off(ctx: Ctx) -> None:
    """Without the option nobody is held back."""
    a = ctx.agent("a")
    refused = [said(r) for n in range(300) if (r := a.refusal("publish", message={"type": "t", "to": "b"})) is not None]
    ctx.expect("worker.limit.15", not refused, f"of 300 publishes to one silent agent refused: {refused[:2]}")


@scenario(
    "limit.backpressure_redriven", needs=("backpressure", "dead_letter", "process_loop"), unread_max=2, deliveries_max=1
)
def backpressure_redriven(ctx: Ctx) -> None:
    """The unread messages are those that a poll would return."""
    a, b = ctx.agent("a"), ctx.agent("b")
    publish(a, id="dead", to="b")
    seq = poll(b)[0]["seq"]
    b.call("process_loop", fail_ids=["dead"])
    publish(a, id="m1", to="b")
    b.call("redrive", seq=seq)
    full = a.refusal("publish", message={"type": "note", "to": "b"})
    unread = ids(poll(b))
    b.call("ack", seq=seq)
    room = a.refusal("publish", message={"type": "note", "to": "b"})
    good = definite(full, "BACKPRESSURE") and unread == ["dead", "m1"] and room is None
    why = f"b's poll gives {unread}, one more for it: {said(full)}; after an ack of the redriven one: {said(room)}"
    ctx.expect("worker.limit.17", good, why)
