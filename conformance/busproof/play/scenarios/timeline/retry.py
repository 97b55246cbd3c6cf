"""retry: calls that wait for an answer, and for no other one."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable
from typing import Any

from busproof.bus.base import DoorError, Refused
from busproof.bus.session import Session
from busproof.contract import CONTRACTS
from busproof.play.scenarios.common import Row, at_once, said
from busproof.play.scenarios.timeline.common import (
    ANY_INVOKE,
    ANY_REQUEST,
    far_away,
    fetch,
    invoke,
    log,
    record,
    request,
    scenario,
)
from busproof.play.suite import Ctx

WAIT_MS = 20_000
AWAY_S = 4.0  # longer than a client of NATS waits for one answer, and tries again only once


def of(key: Row) -> Row:
    """A key as the parameters of a call."""
    return {name: value for name, value in key.items() if name != "type"}


def answered(ctx: Ctx, method: str, key: Row, wanted: Row, **more: Any) -> tuple[Row | DoorError, Row | None]:
    """Make a call; a worker fetches its message and answers. Return the call's end, and the message the worker got."""
    caller, worker = ctx.agent("caller"), ctx.agent("worker")
    seen: list[Row | None] = []

    def work() -> Row:
        message = fetch(worker, wanted, wait_ms=WAIT_MS)
        seen.append(message)
        if message is None:
            return {}
        nonce = {"nonce": message["nonce"]} if message["nonce"] is not None else {}
        return worker.call("reply", key=message["key"], payload={"for": message["payload"]}, **nonce)

    call = lambda: caller.call(method, **of(key), **more, payload="ask", timeout_ms=WAIT_MS)  # noqa: E731
    end, _ = at_once(call, work)
    return end, seen[0]


def fits(end: Row | DoorError, message: Row | None, key: Row) -> bool:
    """Was the message sent under the key, and its answer returned?"""
    return (
        message is not None
        and message["key"] == key
        and not isinstance(end, DoorError)
        and end["payload"] == {"for": "ask"}
        and end["replayed"] is False
    )


@scenario("retry.run_agent", needs=("calls",))
def run_agent(ctx: Ctx) -> None:
    """Blocks until the agent's Complete."""
    end, message = answered(ctx, "run_agent", invoke(), ANY_INVOKE)
    ctx.expect(
        "timeline.retry.01", fits(end, message, invoke()), f"the worker got {message!s:.200}, the caller {end!s:.200}"
    )


@scenario("retry.call_service", needs=("calls",))
def call_service(ctx: Ctx) -> None:
    """Blocks until the service's Response."""
    end, message = answered(ctx, "call_service", request(), ANY_REQUEST)
    ctx.expect(
        "timeline.retry.02", fits(end, message, request()), f"the worker got {message!s:.200}, the caller {end!s:.200}"
    )


@scenario("retry.delegate", needs=("calls",))
def delegate(ctx: Ctx) -> None:
    """Blocks until the DelegateReply with its nonce."""
    key = {"type": "delegate", "timeline": "main", "submission": "s1", "caller": "ann", "target": "bob"}
    end, message = answered(ctx, "delegate", key, {"type": "delegate"}, nonce="n1")
    ctx.expect(
        "timeline.retry.03", fits(end, message, key), f"the worker got {message!s:.200}, the caller {end!s:.200}"
    )


@scenario("retry.time_out", needs=("calls",))
def time_out(ctx: Ctx) -> None:
    """Nobody answers, though others are answered all the time: the call ends by itself, in its time, and says so."""
    caller, other = ctx.agent("caller"), ctx.agent("other")
    ended = threading.Event()

    def answers() -> Row:
        for n in itertools.takewhile(lambda _: not ended.is_set(), range(2, 1_000)):
            other.call("reply", key=request(n), payload="another's")
        return {}

    def ask() -> Row:
        try:
            return caller.call("call_service", **of(request()), payload="ask", timeout_ms=400)
        finally:
            ended.set()

    began = time.monotonic()
    refusal, _ = at_once(ask, answers)
    took_s = time.monotonic() - began
    ok = isinstance(refusal, Refused) and refusal.code == "TIMEOUT" and 0.396 <= took_s < 15
    ctx.expect("timeline.retry.04", ok, f"after {took_s:.3f} s of 0.400: {refusal}")


@scenario("retry.exact_key", needs=("calls",))
def exact_key(ctx: Ctx) -> None:
    """The caller has asked the same of every neighbour of its key, and was answered; then comes its own answer."""
    caller, other = ctx.agent("caller"), ctx.agent("other")
    key = request()
    for name, value in of(key).items():
        near = key | {name: f"{value}x" if isinstance(value, str) else value + 1}
        other.call("reply", key=near, payload=f"another {name}")
        neighbour = caller.call("call_service", **of(near), payload="ask", timeout_ms=WAIT_MS)
        ctx.expect(
            "timeline.retry.06",
            neighbour["payload"] == f"another {name}",
            f"with another {name} the call ended in {neighbour!s:.300}",
        )

    def answer() -> Row:
        _until(lambda: any(message["key"] == key for message in _asked(other)))
        return other.call("reply", key=key, payload="own")

    end, _ = at_once(lambda: caller.call("call_service", **of(key), payload="ask", timeout_ms=WAIT_MS), answer)
    ok = not isinstance(end, DoorError) and end["payload"] == "own"
    ctx.expect("timeline.retry.06", ok, f"the call ended in {end!s:.300}")


@scenario("retry.refused", needs=("calls", "sqlite"), is_long=True)
def refused(ctx: Ctx) -> None:
    """A session's call meets a lock that another program holds; it makes the call again, and is answered."""
    caller, other = ctx.agent("caller"), ctx.agent("other")
    other.call("send", key=request(1), payload="before")
    key = request(2)
    call = {**of(key), "payload": "ask"}
    with record(ctx) as held:
        held.execute("BEGIN IMMEDIATE")
        refusal = caller.refusal("call_service", **call, timeout_ms=400)
        held.execute("ROLLBACK")

    def answer() -> Row:
        _until(lambda: any(message["key"] == key for message in _asked(other)))
        return other.call("reply", key=key, payload="own")

    end, _ = at_once(lambda: caller.call("call_service", **call, timeout_ms=WAIT_MS), answer)
    asked = [message["number"] for message in log(other) if message["key"] == key]
    ok = not isinstance(end, DoorError) and end["payload"] == "own" and len(asked) == 1
    why = (
        f"refused with {said(refusal)}, the same call again ended in {end!s:.300}; its request has the numbers {asked}"
    )
    ctx.expect("timeline.retry.12", ok, why)


@scenario("retry.answered_while_away", needs=("calls", "nats"), is_long=True)
def answered_while_away(ctx: Ctx) -> None:
    """The caller loses its server, and is answered meanwhile: the answer is in the record when it is back."""
    key = request()
    with far_away(ctx) as (caller, other, way):

        def answer() -> Row:
            fetch(other, ANY_REQUEST, wait_ms=WAIT_MS)
            time.sleep(0.5)  # it has looked in vain, and waits
            way.cut()
            try:
                return other.call("reply", key=key, payload="own")
            finally:
                time.sleep(AWAY_S)  # it looks meanwhile, and is not answered
                way.mend()

        end, _ = at_once(lambda: caller.call("call_service", **of(key), payload="ask", timeout_ms=WAIT_MS), answer)
    ok = not isinstance(end, DoorError) and end["payload"] == "own"
    ctx.expect("timeline.retry.11", ok, f"answered while its connection was away, the call ended in {end!s:.300}")


@scenario("retry.gone_while_it_waits", needs=("sqlite", "calls"))
def gone_while_it_waits(ctx: Ctx) -> None:
    """The database is moved away while a call waits for its answer: its question is in there, and may be answered."""
    caller, other, key = ctx.agent("caller"), ctx.agent("other"), request()
    path = ctx.store / CONTRACTS["timeline"].store
    away = path.with_name(f"{path.name}.away")

    def move_away() -> Row:
        _until(lambda: len(_asked(other)) > 0)
        time.sleep(0.5)  # it waits by now
        path.replace(away)
        return {}

    try:
        end, _ = at_once(lambda: caller.call("call_service", **of(key), payload="ask", timeout_ms=3_000), move_away)
    finally:
        if away.exists():
            away.replace(path)
    with record(ctx) as db:
        asked = [payload for (payload,) in db.execute("SELECT payload FROM messages")]
    says = "definite" if isinstance(end, Refused) and end.definite else "not definite"
    ok = isinstance(end, DoorError) and says == "not definite" and asked == ['"ask"']
    why = f"it ended in {end!s:.300} ({says}), and {asked} is recorded"
    ctx.expect("timeline.retry.14", ok, f"the database was moved away while a call waited: {why}")


def _asked(session: Session) -> list[Row]:
    """The messages on the timeline; none before its first message."""
    try:
        return log(session)
    except Refused:
        return []


def _until(is_so: Callable[[], bool]) -> None:
    """Look again, up to ten seconds."""
    end = time.monotonic() + 10
    while not is_so() and time.monotonic() < end:
        threading.Event().wait(0.01)
