"""limit: an agent sends only so much, a breaker stops calls that keep failing, and nonsense is refused."""

from __future__ import annotations

from typing import Any

from busproof.bus.base import Lost
from busproof.bus.session import Session
from busproof.contract.comms import COMMS_METHODS, CONTRACT
from busproof.play.scenarios.common import Row, bounded, definite, said, untrue_limits, untrue_timeout
from busproof.play.scenarios.comms.common import receive, scenario, send
from busproof.play.suite import Ctx


def sends(session: Session, count: int, to: str = "sink") -> int:
    """How many of so many sends are accepted."""
    accepted = 0
    for _ in range(count):
        answer = session.refusal("send_message", to_agent=to, message_type="note", payload={})
        accepted += answer is None
    return accepted


@scenario("limit.bucket", needs=("clock",))
def bucket(ctx: Ctx) -> None:
    """A hundred at once, then ten a second, never more than a hundred saved up."""
    a = ctx.agent("a")
    at_once = sends(a, 105)
    ctx.expect("comms.limit.01", at_once == 100, f"{at_once} of 105 sends at one moment were accepted")
    answer = a.refusal("send_message", to_agent="b", message_type="note", payload={})
    stored = receive(ctx.agent("b"))
    ctx.expect(
        "comms.limit.02", definite(answer) and not stored, f"with an empty bucket: {said(answer)}; stored {stored}"
    )
    ctx.advance(1_000)
    after_second = sends(a, 15)
    ctx.advance(500)
    after_half = sends(a, 15)
    good = (after_second, after_half) == (10, 5)
    ctx.expect(
        "comms.limit.03", good, f"after one second {after_second} were accepted, after another half {after_half}"
    )
    ctx.advance(3_600_000)
    full = sends(a, 105)
    ctx.expect("comms.limit.04", full == 100, f"after an hour {full} of 105 were accepted")
    ctx.advance(3_600_000)
    cast = {"vote_id": "00000000-0000-4000-8000-00000000dead", "option": "x"}  # there is no such vote
    kinds = ("vote.cast", "", "vote.initiate")
    refused = [a.refusal("send_message", message_type=kind, payload=cast) for kind in kinds]
    left = sends(a, 105)
    why = f"of a full bucket, after {sum(map(bool, refused))} of 3 sends were refused, {left} of 105 were accepted"
    if left != 100 - refused.count(None):  # the row of another item (decision 0033)
        ctx.expect("comms.limit.16", False, why)


@scenario("limit.each_agent", needs=("clock",))
def each_agent(ctx: Ctx) -> None:
    """A bucket belongs to one agent alone, and to all its processes."""
    a, again, b = ctx.agent("a"), ctx.agent("a"), ctx.agent("b")
    sends(a, 100)
    others = sends(b, 5)
    ctx.expect("comms.limit.05", others == 5, f"another agent's sends: {others} of 5 accepted")
    same = sends(again, 5)
    ctx.crash(a)
    fresh = sends(ctx.agent("a"), 5)
    good = (same, fresh) == (0, 0)
    ctx.expect(
        "comms.limit.06", good, f"sends taken after its 100: of another process {same} of 5, after a crash {fresh} of 5"
    )


def drive(session: Session, *events: tuple[int, str]) -> list[tuple[str, Any]]:
    """The answers of a fresh breaker: (state, admitted) for each event."""
    answers = session.call("circuit_breaker", events=[{"at_ms": at, "event": event} for at, event in events])["answers"]
    return [(answer["state"], answer.get("admitted")) for answer in answers]


FAILURE = ((0, "call"), (0, "failure"))


@scenario("limit.breaker", needs=("breaker",))
def breaker(ctx: Ctx) -> None:
    """Five failures open it for a minute; then one probe decides."""
    a = ctx.agent("a")
    four = drive(a, *FAILURE * 4, (0, "call"))
    ctx.expect("comms.limit.08", four[-1] == ("closed", True), f"after four failures: {four[-1]}")
    five = drive(a, *FAILURE * 5, (1, "call"))
    ctx.expect("comms.limit.09", five[-2][0] == "open" and five[-1] == ("open", False), f"after five: {five[-2:]}")
    minute = drive(a, *FAILURE * 5, (60_000, "call"), (60_001, "call"))
    good = minute[-2] == ("open", False) and minute[-1] == ("half_open", True)
    ctx.expect("comms.limit.10", good, f"a minute later, and a moment more: {minute[-2:]}")
    later = ((60_001, "call"), (60_001, "failure"))
    healed = drive(a, *FAILURE * 5, (60_001, "call"), (60_001, "success"), *later * 4, (60_002, "call"))
    good = healed[11][0] == "closed" and healed[-1] == ("closed", True)
    ctx.expect("comms.limit.11", good, f"after a probe that succeeded: {healed[11]}; four failures on: {healed[-1]}")


@scenario("limit.breaker_resets", needs=("breaker",))
def breaker_resets(ctx: Ctx) -> None:
    """A success forgets failures; half-open admits one probe; its failure opens again for a minute (C8)."""
    a = ctx.agent("a")
    ok = ((0, "call"), (0, "success"))
    reset = drive(a, *FAILURE * 4, *ok, *FAILURE * 4, (0, "call"))
    ctx.expect("comms.limit.12", reset[-1] == ("closed", True), f"4 failures, a success, 4 failures: {reset[-1]}")
    probes = drive(a, *FAILURE * 5, (60_001, "call"), (60_002, "call"), (60_003, "call"))
    admitted = [answer[1] for answer in probes[-3:]]
    ctx.expect("comms.limit.13", admitted == [True, False, False], f"three calls at half-open: {probes[-3:]}")
    again = drive(a, *FAILURE * 5, (60_001, "call"), (60_001, "failure"), (119_000, "call"), (120_002, "call"))
    good = again[-3][0] == "open" and again[-2] == ("open", False) and again[-1] == ("half_open", True)
    ctx.expect("comms.limit.14", good, f"after a probe that failed: {again[-3:]}")


GOOD: dict[str, dict[str, Any]] = {
    "send_message": {"to_agent": "b", "message_type": "t", "payload": {}},
    "receive_messages": {"channels": ["general"], "limit": 1},
    "claim_message": {"message_id": "00000000-0000-4000-8000-000000000000"},
    "complete_message": {"message_id": "00000000-0000-4000-8000-000000000000"},
    "subscribe_to_channel": {"channel_name": "general"},
    "unsubscribe_from_channel": {"channel_name": "general"},
    "get_subscribed_channels": {},
    "send_heartbeat": {"status": "idle"},
    "get_agent_health": {},
    "redrive": {"id": "x"},
    "write_artifact": {"task_id": "t", "content": {}},
    "read_artifact": {"artifact_path": ".claude/artifacts/a/t/r.json"},
    "tally": {"vote_id": "x"},
    "retry_delays": {"max_attempts": 3},
    "circuit_breaker": {"events": []},
}
WRONG: dict[str, list[Any]] = {  # beside what is out of a field's bound
    "payload": [1, "x", [], True],
    "priority": [0, 11, 2**63],
    "channels": ["general", [1], [""], {}],
    "message_id": [1, ""],
    "status": ["nonsense"],
    "artifact_path": ["/etc/passwd", "../x"],
    "events": ["x", [1]],
}


@scenario("limit.bad_input")
def bad_input(ctx: Ctx) -> None:
    """Wrong types, missing and extra fields: a definite error with a code, and the process lives."""
    a = ctx.agent("a")
    soft: list[str] = []
    for method, good in offered(ctx).items():
        cases = [
            {**good, "no_such_field": 1},
            *({k: v for k, v in good.items() if k != key} for key in required(method)),
        ]
        fields = COMMS_METHODS[method].params.model_fields
        wrong = [(field, None) for field, info in fields.items() if info.is_required() and info.annotation is not Any]
        wrong += [(field, value) for field in fields for value in WRONG.get(field, [])]
        for field, bound in CONTRACT.bounds_of(
            method
        ).items():  # what is a little too long is tried by its limit in `hello`
            wrong += [(field, value) for value in (bound.kind.wrong if bound.limits else bound.refused)]
        cases += [{**good, field: value} for field, value in wrong]
        for params in cases:
            try:
                answer = a.refusal(method, **params)
            except Lost as error:
                soft.append(f"{method} {str(params)[:100]}: no answer, {error}")
                ctx.blame()
                a = ctx.agent("a")
                continue
            if not definite(answer):
                soft.append(f"{method} {str(params)[:100]}: {said(answer)[:120]}")
                ctx.blame()
    ctx.expect("comms.limit.15", not soft, f"{len(soft)} bad calls, the first: {'; '.join(soft[:4])}")
    left = receive(ctx.agent("b"))
    ctx.expect("comms.limit.16", left == [] and send(a, "b") is not None, f"stored by bad calls: {left}")
    after_many_in_vain(ctx)


MORE_FILES = 40  # may a process have open beside those that it has
TIMES = 60  # calls of each kind are in vain


def after_many_in_vain(ctx: Ctx) -> None:
    """More calls of any kind come to nothing than a process may have files open; then one comes to something."""
    a = ctx.agent("a")
    in_vain: list[tuple[str, Row]] = [
        ("claim_message", {"message_id": "00000000-0000-4000-8000-000000000001"}),
        ("receive_messages", {"channels": ["nobody's"], **({"timeout_seconds": 0.001} if ctx.has("wait") else {})}),
    ]
    if ctx.has("blob"):
        for name, content in {"folder": None, "no json": b"{", "too large": b" " * (2**24 + 1)}.items():
            path = ctx.store / a.call("write_artifact", task_id="t", content=1, name=name)["artifact_path"]
            path.unlink()
            path.mkdir() if content is None else path.write_bytes(content)
        names = ("folder", "no json", "too large", "none")
        in_vain += [("read_artifact", {"artifact_path": f".claude/artifacts/a/t/{name}"}) for name in names]
        in_vain += [("write_artifact", {"task_id": "t", "content": 1, "name": "folder"})]
    with bounded(a, MORE_FILES):
        for _ in range(TIMES):
            for method, params in in_vain:
                a.refusal(method, **params)
        works: tuple[str, Row] = ("write_artifact", {"task_id": "t", "content": 1})
        if not ctx.has("blob"):
            works = ("get_subscribed_channels", {})
        refused = a.refusal(works[0], **works[1])
    why = f"{TIMES * len(in_vain)} calls came to nothing, and {works[0]} was refused: {said(refused)}"
    ctx.expect("comms.limit.16", refused is None, why)


@scenario("limit.huge")
def huge(ctx: Ctx) -> None:
    """A payload of ten megabytes is refused or carried, and the bus lives."""
    a, b = ctx.agent("a"), ctx.agent("b")
    answer = a.refusal("send_message", to_agent="b", message_type="t", payload={"x": "y" * 10_000_000})
    came = receive(b)
    good = (definite(answer) and came == []) or (answer is None and len(came) == 1)
    ctx.expect("comms.limit.17", good and bool(send(a, "b")), f"{said(answer)[:200]}; b received {len(came)} messages")


def offered(ctx: Ctx) -> dict[str, dict[str, Any]]:
    """The calls above that this bus declares."""
    return {
        name: params
        for name, params in GOOD.items()
        if (noun := COMMS_METHODS[name].noun) is None
        or (ctx.has(noun) and ((feature := COMMS_METHODS[name].feature) is None or ctx.has(feature)))
    }


def required(method: str) -> list[str]:
    """Parameters that a call must have, except the caller's name, which the session adds."""
    fields = COMMS_METHODS[method].params.model_fields
    return [name for name, field in fields.items() if field.is_required() and name not in ("agent_id", "from_agent")]


@scenario("limit.declared")
def declared(ctx: Ctx) -> None:
    """Each limit that hello tells is the limit: so much is taken, and one more is not."""
    a = ctx.agent("a")

    good = {"message_type": "note", "payload": {}}
    wrong = untrue_limits(ctx, lambda field, value: a.refusal("send_message", **{**good, field: value}))
    if ctx.has("request"):
        asked = {"to_agent": "nobody", "message_type": "status.query", "payload": {}}
        wrong += untrue_timeout(ctx, "request_timeout_ms", lambda: a.refusal("request", **asked))
    if "payload_bytes_max" in "".join(wrong):
        wrong.append("""the payload was {"p": "xxx…"}, counted as Python's json.dumps writes it, with that blank""")
    ctx.expect("comms.limit.19", not wrong, "; ".join(wrong))
