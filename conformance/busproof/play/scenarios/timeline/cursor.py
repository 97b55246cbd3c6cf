"""cursor: workers that ask at once, that die, and that wait."""

from __future__ import annotations

import json
import time

from busproof.bus.base import DoorError, Refused
from busproof.bus.nats import NatsServer
from busproof.bus.session import Session
from busproof.contract.timeline import ACK_WAIT_MS, DB_NAME
from busproof.play.scenarios.common import Row, at_once, behind_a_lock, raced, said
from busproof.play.scenarios.timeline.common import (
    ANY_REQUEST,
    far_away,
    fetch,
    invoke,
    log,
    on_a_server,
    request,
    scenario,
    send,
)
from busproof.play.suite import Ctx

A_SECOND_NS, BACK_S = 10**9, 20.0
# A server ends a page of messages where it has so many bytes: as a rule 64 MB. Beyond them it leaves a slow reader, so
# the messages are small beside it.
SMALL_PAGES, LARGE, SOME_LARGE = "max_payload: 400000\nmax_pending: 1000000\n", 20_000, 120
MANY = 1_100  # more than any page

TURNS_OF_TWO = 3
FOR_OTHERS = 100
IN_HAND_S = 25.0
TURNS_OF_LUCK = 25  # where nobody can hold the workers until all have looked


@scenario("cursor.one_each")
def one_each(ctx: Ctx) -> None:
    """Four workers have looked before any could take: each takes a message of its own."""
    workers = [ctx.agent(f"w{n}") for n in range(4)]
    for turn in range(TURNS_OF_LUCK):
        numbers = [send(workers[0], request(4 * turn + n))["number"] for n in range(4)]
        results = raced(ctx, *[lambda worker=worker: worker.call("fetch", filter=ANY_REQUEST) for worker in workers])
        broken = [str(result) for result in results if isinstance(result, DoorError)]
        messages = [result["message"] for result in results if not isinstance(result, DoorError)]
        taken = sorted(message["number"] for message in messages if message is not None)
        is_one_each = taken == numbers and not broken
        ctx.expect("timeline.cursor.02", is_one_each, f"of {numbers} were taken {taken} {broken}")
        if not (is_one_each and ctx.is_by_luck):
            return


@scenario("cursor.dead_worker", needs=("clock", "sqlite"))
def dead_worker(ctx: Ctx) -> None:
    """A worker is killed with a message in hand; after the time-out another gets it, once."""
    first, second, third = (ctx.agent(name) for name in "abc")
    send(first, request(), "work")
    fetch(first, ANY_REQUEST)
    ctx.crash(first)
    ctx.advance(ACK_WAIT_MS - 1)
    early = fetch(second, ANY_REQUEST)
    ctx.advance(1)
    late = fetch(second, ANY_REQUEST)
    if late is None:  # it comes after that time, not at it
        ctx.advance(1)
        late = fetch(second, ANY_REQUEST)
    other = fetch(third, ANY_REQUEST)
    count = late and late["delivery_count"]
    why = f"before the time {early}, at the time {late!s:.200}, for a third {other!s:.100}"
    ctx.expect("timeline.cursor.05", early is None and count == 2 and other is None, why)


@scenario("cursor.comes_back", ack_wait_ms=1_000)
def comes_back(ctx: Ctx) -> None:
    """A message whose time is over goes to a worker that waits for it by then, though nobody does anything meanwhile.

    The session that fetched it says how long that is, not the one that fetched first.
    """
    waiter, holder = ctx.agent_in_real_time("waiter"), ctx.agent_in_real_time("holder")
    patient = ctx.agent_in_real_time("patient", ack_wait_ms=60_000)
    send(holder, request(9))
    first = fetch(patient, ANY_REQUEST)
    if first is not None:
        patient.call("ack", delivery=first["delivery"])
    send(holder, request())
    began = time.monotonic()
    held = fetch(holder, ANY_REQUEST)
    late = fetch(waiter, ANY_REQUEST, wait_ms=20_000)
    took_s = time.monotonic() - began
    ok = held is not None and late is not None and late["delivery_count"] == 2 and took_s >= 0.997
    why = f"in hands for 1 s: {held!s:.100}; somebody waited up to 20 s and got, {took_s:.3f} s after: {late!s:.200}"
    ctx.expect("timeline.cursor.19", ok, why)


@scenario("cursor.given_after_a_wait", needs=("sqlite",), ack_wait_ms=2_000)
def given_after_a_wait(ctx: Ctx) -> None:
    """A fetch waits while the kit holds the write lock, in real time, for more than half of the message's time."""
    first, second = ctx.agent_in_real_time("first"), ctx.agent_in_real_time("second")
    send(first, request())
    given: list[Row] = []
    behind_a_lock(ctx.store / DB_NAME, lambda: given.append(first.call("fetch", filter=ANY_REQUEST)), locked_s=1.2)
    began = time.monotonic()
    while (again := fetch(second, ANY_REQUEST)) is None and time.monotonic() < began + 20:
        time.sleep(0.05)  # not every member of a fleet waits by itself
    took_s = time.monotonic() - began
    good = not given or given[0]["message"] is None or (again is not None and took_s >= 1.9)
    why = f"given after a wait for the lock, the message is {again and again['delivery']!s:.80} {took_s:.2f} s later"
    ctx.expect("timeline.cursor.25", good, f"{why}, and its time is 2 s")


def _behind_others(ctx: Ctx, worker: Session) -> None:
    """The wanted message lies behind more than a thousand of the same type that are not for this worker."""
    for n in range(1, MANY):
        send(worker, request(n, service="common"))
    wanted = send(worker, request(MANY, service="rare"))["number"]
    message = fetch(worker, {**ANY_REQUEST, "service": "rare"})
    number = message and message["number"]
    ctx.expect("timeline.cursor.11", number == wanted, f"behind {MANY - 1} requests of another service: {number}")
    _all_in_hand(ctx, worker)


def _all_in_hand(ctx: Ctx, worker: Session) -> None:
    """More than a thousand messages are in hand at once. Another worker gets the last of them as it is given back."""
    common = {**ANY_REQUEST, "service": "common"}
    began = time.monotonic()
    held = [message for _ in range(1, MANY) if (message := fetch(worker, common)) is not None]
    if len(held) == MANY - 1 and ctx.has("nak"):
        worker.call("nak", delivery=held[-1]["delivery"])
        again = fetch(ctx.agent("other"), common)
        if time.monotonic() - began < IN_HAND_S:  # else the time of one may be over by the bus's own clock
            ok = again is not None and again["number"] == held[-1]["number"]
            why = (
                f"number {held[-1]['number']}, the last of {MANY - 1} in hand, was given back; then came {again!s:.200}"
            )
            if not ok:
                ctx.expect("timeline.cursor.12", False, why)  # the row of another item
    else:
        ctx.expect("timeline.cursor.11", len(held) == MANY - 1, f"of {MANY - 1} for one worker it got {len(held)}")


@scenario("cursor.waits")
def waits(ctx: Ctx) -> None:
    """A fetch that waits gives the message that comes, and nothing after its time."""
    worker, sender = ctx.agent("w"), ctx.agent("s")
    began = time.monotonic()
    nothing = fetch(worker, ANY_REQUEST, wait_ms=300)
    took_s = time.monotonic() - began

    def later() -> dict[str, object]:
        time.sleep(0.1)
        return send(sender, request())

    came, _ = at_once(lambda: worker.call("fetch", filter=ANY_REQUEST, wait_ms=20_000), later)
    message = None if isinstance(came, DoorError) else came["message"]
    ok = nothing is None and took_s >= 0.297 and message is not None
    ctx.expect("timeline.cursor.11", ok, f"waited {took_s:.3f} s of 0.300 for {nothing}; then came {came!s:.200}")
    _two_wait(ctx, worker, sender)
    _behind_others(ctx, worker)


def _two_wait(ctx: Ctx, worker: Session, sender: Session) -> None:
    """Two wait while much comes for others; then comes one message, and a moment later another: each gets one."""
    second = ctx.agent("second")
    for turn in range(TURNS_OF_TWO):
        wanted = {**ANY_REQUEST, "submission": f"two{turn}"}

        def later(turn: int = turn) -> dict[str, object]:
            time.sleep(0.05)
            for n in range(FOR_OTHERS):
                send(sender, invoke(f"{turn}.{n}"))
            send(sender, request(1, submission=f"two{turn}"))
            time.sleep(0.1)
            return send(sender, request(2, submission=f"two{turn}"))

        waiting = [lambda w=w, wanted=wanted: w.call("fetch", filter=wanted, wait_ms=20_000) for w in (worker, second)]
        *results, _ = at_once(*waiting, later)
        numbers = [r if isinstance(r, DoorError) else r["message"] and r["message"]["number"] for r in results]
        ok = all(type(number) is int for number in numbers) and len({*numbers}) == 2
        why = f"two waited 20 s, {FOR_OTHERS} came for others, then two messages: {numbers!s:.300}"
        if not ctx.expect("timeline.cursor.11", ok, why):
            return


@scenario("cursor.late_nak", needs=("nak",), is_long=True, ack_wait_ms=5_000)
def late_nak(ctx: Ctx) -> None:
    """A late worker gives back a message that another has by now: nobody else is given it in the other's time."""
    holder, late, third = (ctx.agent_in_real_time(name) for name in ("holder", "late", "third"))
    send(late, request())
    first = fetch(late, ANY_REQUEST)
    began = time.monotonic()
    held = fetch(holder, ANY_REQUEST, wait_ms=20_000)
    if first is not None:
        late.call("nak", delivery=first["delivery"])
    taken = fetch(third, ANY_REQUEST, wait_ms=500)
    why = f"first {first!s:.100}, then, when its time was over, another: {held!s:.100}; a third got {taken!s:.200}"
    is_his = first is not None and held is not None and held["delivery_count"] == 2
    if taken is None or time.monotonic() - began < 9.9:  # else the second one's time may be over, too
        ctx.expect("timeline.cursor.20", is_his and taken is None, why)


@scenario("cursor.done_or_not", needs=("nats",), ack_wait_ms=1_000)
def done_or_not(ctx: Ctx) -> None:
    """A worker loses its server, acknowledges, and dies: an answered ack is done, else another gets the message."""
    with far_away(ctx, ack_wait_ms=1_000) as (far, near, way):
        send(near, request())
        message = fetch(far, ANY_REQUEST)
        way.cut()

        def die() -> dict[str, object]:
            time.sleep(1)
            ctx.crash(far)
            return {}

        ended, _ = at_once(lambda: far.call("ack", delivery=(message or {})["delivery"]), die)
        is_done = not isinstance(ended, DoorError)
        again = fetch(near, ANY_REQUEST, wait_ms=3_000 if is_done else 20_000)
        ok = message is not None and (again is None) == is_done
        ctx.expect("timeline.cursor.21", ok, f"its ack ended in {ended!s:.200}; another was given {again!s:.200}")
    _without_its_consumer(ctx)
    _kept_for_long(ctx)


def _kept_for_long(ctx: Ctx) -> None:
    """A bus reaches any limit of time or number that it gives its server; then the server is killed.

    What was acknowledged is done, and what was sent is recorded, also where a page ends by its bytes and not by its
    number of messages.
    """
    with on_a_server(ctx, config=SMALL_PAGES) as (session, server):
        numbers = [send(session, request(n), "m" * LARGE)["number"] for n in range(SOME_LARGE)]
        for _ in range(3):
            message = fetch(session, ANY_REQUEST)
            session.call("ack", delivery=(message or {})["delivery"])
        limits = _reach_limits(server)
        came = [message and message["number"] for message in (fetch(session, ANY_REQUEST) for _ in range(3))]
        beyond = f"beyond a limit that it gives its server ({limits}) " if limits else ""
        why = f"{beyond}the first three of {SOME_LARGE} are done; then came {came}"
        ctx.expect("timeline.cursor.21", came == numbers[3:6], why)
        _one_by_one(
            ctx, ctx.agent_in_real_time("brief", backend="nats", nats_url=server.url, ack_wait_ms=1_000), numbers
        )
        server.restart(0)
        shown = _shown(session)
        if shown not in (None, numbers):  # the row of another item
            why = f"{beyond}log shows {shown} of {SOME_LARGE} numbers, {LARGE} bytes each, on a server that was killed"
            ctx.expect("timeline.log.09", False, why)


def _one_by_one(ctx: Ctx, brief: Session, numbers: list[int]) -> None:
    """Of three in hand the last is done: the two before it are not, and come again."""
    wanted, message = {**ANY_REQUEST, "service": "infer"}, None
    for _ in numbers:
        message = fetch(brief, wanted)
        if message is not None and message["number"] == numbers[2]:
            brief.call("ack", delivery=message["delivery"])
            break
    left, came = {*numbers[:2]}, list[int]()
    for _ in range(2 * len(numbers)):
        message = fetch(brief, wanted, wait_ms=5_000)
        came += [message["number"]] if message is not None else []
        left -= {*came}
        if message is None or not left:
            break
    ctx.crash(brief)
    why = f"with {numbers[:3]} in hand for a second, the last is done; then came {came}"
    ctx.expect("timeline.cursor.21", not left, why)


def _shown(session: Session) -> list[int] | None:
    """The numbers that log shows, once the server is back; None: the bus does not reach it, and tells nothing."""
    deadline = time.monotonic() + BACK_S
    while True:
        try:
            return [message["number"] for message in log(session)]
        except Refused as error:
            if error.code != "UNREACHABLE":
                return []
            if time.monotonic() > deadline:
                return None
            time.sleep(0.1)


def _reach_limits(server: NatsServer) -> str:
    """Bring about what would come with time or number: the limits at which the server forgets, or gives no more.

    The bus set them, or left them to the server: each that there is becomes one that is reached soon.
    """
    reached = []
    for stream in server.ask("$JS.API.STREAM.NAMES").get("streams") or []:
        config = server.ask(f"$JS.API.STREAM.INFO.{stream}")["config"]
        if config.get("max_age"):
            reached.append(f"max_age of {stream}")
            config |= {"max_age": A_SECOND_NS, "duplicate_window": min(A_SECOND_NS, config.get("duplicate_window", 0))}
            server.ask(f"$JS.API.STREAM.UPDATE.{stream}", json.dumps(config).encode())
        for consumer in server.ask(f"$JS.API.CONSUMER.LIST.{stream}").get("consumers") or []:
            config, less = consumer["config"], dict[str, int]()
            if config.get("inactive_threshold"):
                less["inactive_threshold"] = A_SECOND_NS
            if 0 < config.get("max_ack_pending", -1) < MANY:
                less["max_ack_pending"] = 2
            if less and (name := config.get("durable_name")):
                reached += [f"{limit} of {name}" for limit in less]
                asked = {"stream_name": stream, "config": config | less}
                server.ask(f"$JS.API.CONSUMER.DURABLE.CREATE.{stream}.{name}", json.dumps(asked).encode())
    if reached:
        time.sleep(4)
    return ", ".join(reached)


def _without_its_consumer(ctx: Ctx) -> None:
    """Somebody deletes the server's consumers while a message is in hand: its ack is done, or refused with a reason."""
    with on_a_server(ctx) as (worker, server):
        send(worker, request())
        message = fetch(worker, ANY_REQUEST)
        for name in server.ask("$JS.API.CONSUMER.NAMES.VLINDER").get("consumers") or []:
            server.ask(f"$JS.API.CONSUMER.DELETE.VLINDER.{name}")
        refusal = worker.refusal("ack", delivery=(message or {})["delivery"])
        again = fetch(worker, ANY_REQUEST, wait_ms=20_000 if refusal else 3_000)
    is_told = refusal is None or refusal.code != "INTERNAL"
    why = f"of an ack to a consumer that is gone {said(refusal)}; then came {again!s:.200}"
    ctx.expect("timeline.cursor.21", is_told and (again is None) == (refusal is None), why)
