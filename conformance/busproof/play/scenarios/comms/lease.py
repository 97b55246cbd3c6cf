"""lease: one agent at a time holds a message; it comes back when that agent lets go, and is done once."""

from __future__ import annotations

from typing import Any

from busproof.contract.comms import VISIBILITY_MS
from busproof.play.scenarios.common import at_once, behind_a_lock, definite, ids, raced, said
from busproof.play.scenarios.comms.common import (
    claim,
    complete,
    epoch_ms,
    path_of,
    receive,
    scenario,
    sees,
    send,
    stored,
)
from busproof.play.suite import Ctx

STAMPED_MS = 1000  # a bus may keep whole seconds
WAITS_S = 1.5


@scenario("lease.claim")
def claim_once(ctx: Ctx) -> None:
    """The first claim gets the message, the next does not, and nobody is shown it meanwhile."""
    a, b, b_again = ctx.agent("a"), ctx.agent("b"), ctx.agent("b")
    name = send(a, "b")
    first = claim(b, name)
    ctx.expect("comms.lease.01", first, "the first claim of a pending message was refused")
    second, same = claim(b_again, name), claim(b, name)
    ctx.expect("comms.lease.02", not second and not same, f"claimed again by another process {second}, the same {same}")
    shown = sees(b, name) or sees(b_again, name)
    ctx.expect("comms.lease.03", not shown, "a message in processing was received")
    if ctx.has("sqlite"):
        row = stored(ctx, name)
        good = row.get("status") == "processing" and row.get("last_delivered_at") is not None
        ctx.expect("comms.lease.04", good, f"the row of a claimed message: {row}")
    nothing = claim(b, "00000000-0000-4000-8000-00000000dead")
    ctx.expect("comms.lease.05", not nothing, "a message that does not exist was claimed")


@scenario("lease.granted_after_a_wait", needs=("sqlite",))
def granted_after_a_wait(ctx: Ctx) -> None:
    """A claim waits while the kit holds the write lock, in real time: no claim can begin before the lock is free."""
    a, late = ctx.agent_in_real_time("a"), ctx.agent_in_real_time("late")
    name = send(a, "late")
    free_ms = behind_a_lock(path_of(ctx), lambda: late.refusal("claim_message", message_id=name), locked_s=WAITS_S)
    row = stored(ctx, name)
    began = row.get("last_delivered_at")
    good = row.get("status") != "processing" or (began is not None and epoch_ms(began) + STAMPED_MS > free_ms)
    ctx.expect("comms.lease.29", good, f"the lock was free at {free_ms} ms, and the claim is told to begin at {began}")


@scenario("lease.complete")
def completed(ctx: Ctx) -> None:
    """A completed message is not shown and not claimable, for anybody; completing it again changes nothing."""
    a, b = ctx.agent("a"), ctx.agent("b")
    name = send(a, "b")
    claim(b, name)
    complete(b, name)
    other = ctx.agent("b")
    gone = not sees(b, name) and not claim(b, name) and not claim(other, name)
    ctx.expect("comms.lease.06", gone, "a completed message was received or claimed again")
    if ctx.has("sqlite"):
        row = stored(ctx, name)
        ctx.expect("comms.lease.08", (row.get("status"), row.get("error")) == ("done", None), f"its row: {row}")
    before = a.call("dump") if ctx.has("dump") else None
    again = b.refusal("complete_message", message_id=name)
    ctx.expect("comms.lease.07", again is None and not sees(other, name), f"completing it again: {said(again)}")
    # An error after the end may be refused or not; a done message stays done.
    late = b.refusal("complete_message", message_id=name, error="too late")
    after = a.call("dump") if ctx.has("dump") else None
    same = before == after and not sees(other, name) and not claim(other, name)
    ctx.expect("comms.lease.07", same, f"failing it when it was done changed the store: {said(late)}")


@scenario("lease.race")
def race(ctx: Ctx) -> None:
    """Processes of one agent that claim at once: each message goes to exactly one."""
    a = ctx.agent("a")
    pool = [ctx.agent("b") for _ in range(4)]
    names = [send(a, "b") for _ in range(25)]

    def work(session: Any) -> Any:
        return {"won": [name for name in names if claim(session, name)]}

    results = at_once(*(lambda s=session: work(s) for session in pool))
    won = [name for result in results if isinstance(result, dict) for name in result["won"]]
    twice, never = [name for name in names if won.count(name) > 1], [name for name in names if name not in won]
    failed = [result for result in results if not isinstance(result, dict)]
    ctx.expect(
        "comms.lease.09",
        sorted(won) == sorted(names),
        f"25 messages, {len(won)} claims; granted more than once: {twice[:2]}; never: {never[:2]}; errors: {failed}",
    )
    wins = []
    for name in [send(a, "b") for _ in range(4)]:
        answers = raced(ctx, *(lambda s=s, name=name: s.call("claim_message", message_id=name) for s in pool))
        granted = [answer for answer in answers if isinstance(answer, dict) and answer["claimed"]]
        is_seen = all(isinstance(answer, dict) for answer in answers)  # or some gave up at the lock
        if granted or is_seen:
            wins.append(len(granted))
        if len(granted) > 1:
            break  # these calls are the evidence
    why = f"four processes claimed one message at once, {len(wins)} times; granted {wins}"
    if wins:  # or nothing was seen
        ctx.expect("comms.lease.09", wins == [1] * len(wins), why)


@scenario("lease.addressee_only")
def addressee_only(ctx: Ctx) -> None:
    """Nobody claims or completes a message that is addressed to another (C4)."""
    a, b, c = (ctx.agent(name) for name in "abc")
    name = send(a, "b")
    stolen = claim(c, name) or claim(a, name)
    ctx.expect("comms.lease.10", not stolen, "a message to b was claimed by another agent")
    claim(b, name)
    answer = c.refusal("complete_message", message_id=name)
    kept = not claim(b, name)
    b_done = b.refusal("complete_message", message_id=name)
    ctx.expect("comms.lease.11", definite(answer) and kept and b_done is None, f"another's completion: {said(answer)}")


@scenario("lease.visibility", needs=("clock",))
def visibility(ctx: Ctx) -> None:
    """A claimer that dies loses its message after 60 seconds, and to one process only (C2)."""
    a, b, c = ctx.agent("a"), ctx.agent("b"), ctx.agent("b")
    name = send(a, "b")
    claim(b, name)
    ctx.crash(b)
    ctx.advance(VISIBILITY_MS - 1)
    early = claim(c, name) or sees(c, name)
    ctx.expect("comms.lease.12", not early, "a claim was taken over one millisecond before its time-out")
    ctx.advance(1)
    shown = sees(c, name)
    ctx.expect("comms.lease.13", shown, "a message whose claimer died is not received after 60 s")
    d = ctx.agent("b")
    taken = claim(c, name), claim(d, name)
    ctx.expect("comms.lease.14", taken == (True, False), f"two processes claim it then: {taken}")
    if any(taken) and ctx.has("sqlite"):  # or there is no second claim to be counted
        count = stored(ctx, name).get("delivery_count")
        ctx.expect("comms.lease.15", count == 2, f"claimed twice, its delivery_count is {count}")


@scenario("lease.late_completion", needs=("clock", "delivery_count"))
def late_completion(ctx: Ctx) -> None:
    """An agent that lost its claim to another cannot complete with it; one that was only late can."""
    a, b, c = ctx.agent("a"), ctx.agent("b"), ctx.agent("b")
    lost, late, left = send(a, "b"), send(a, "b"), send(a, "b")
    counts = {n: b.call("claim_message", message_id=n)["delivery_count"] for n in (lost, late, left)}
    ctx.advance(VISIBILITY_MS + 1)
    count = c.call("claim_message", message_id=lost)["delivery_count"]
    ctx.expect("comms.lease.16", count > counts[lost], f"delivery_count was {counts[lost]}, then {count}")
    answer = b.refusal("complete_message", message_id=lost, delivery_count=counts[lost])
    still = c.refusal("complete_message", message_id=lost, delivery_count=count)
    ctx.expect(
        "comms.lease.17",
        definite(answer, "NOT_CLAIMED") and still is None,
        f"completed with a lost claim: {said(answer)}; by its holder: {said(still)}",
    )
    # Looking for due messages must not take the work from an agent that is late with it.
    c.call("cleanup_expired_messages")
    if ctx.has("presence"):
        c.refusal("get_agent_health", agent_id="b")
    only_late = b.refusal("complete_message", message_id=late, delivery_count=counts[late])
    ctx.expect(
        "comms.lease.18", only_late is None and not sees(c, late), f"completed late, unclaimed since: {said(only_late)}"
    )
    # A refused completion must not take the end of the other one's claim away.
    claim(c, left)
    refused = b.refusal("complete_message", message_id=left, delivery_count=counts[left])
    ctx.crash(c)
    ctx.advance(VISIBILITY_MS + 1)
    why = f"of a claim that was lost {said(refused)}; the next claimer died, and after 60 s it is not received"
    if not sees(ctx.agent("b"), left):  # the row of another item (decision 0033)
        ctx.expect("comms.lease.13", False, why)


@scenario("lease.broadcast")
def broadcast(ctx: Ctx) -> None:
    """Each agent has its own delivery of a broadcast (C3)."""
    a, b, c = (ctx.agent(name) for name in "abc")
    name = send(a)
    took_b, took_c = claim(b, name), claim(c, name)
    ctx.expect("comms.lease.19", took_b and took_c, f"claimed by b {took_b}, by c {took_c}")
    complete(b, name)
    again = claim(b, name) or sees(b, name)
    ctx.expect("comms.lease.20", not again, "an agent received or claimed a broadcast again that it had completed")
    late = ctx.agent("d")
    shown = sees(late, name)
    ctx.expect("comms.lease.21", shown and claim(late, name), "one agent's completion hid a broadcast from another")
    other = ctx.agent("c")
    ctx.expect("comms.lease.22", not claim(other, name), "two processes of one agent claimed its delivery")


@scenario("lease.unclaimed")
def unclaimed(ctx: Ctx) -> None:
    """An unclaimed message cannot be completed, and stays; likewise a broadcast that another agent claimed."""
    a, b, c = (ctx.agent(name) for name in "abc")
    name, shared = send(a, "b"), send(a)
    claim(c, shared)
    answers = [
        b.refusal("complete_message", message_id=message_id)
        for message_id in (name, shared, "00000000-0000-4000-8000-00000000dead")
    ]
    good = all(definite(answer) for answer in answers) and sees(b, name) and sees(b, shared)
    why = f"a message, a broadcast and an unknown one, unclaimed by b: {[said(answer) for answer in answers]}"
    ctx.expect("comms.lease.23", good, why)


@scenario("lease.pool", needs=("wait",))
def pool(ctx: Ctx) -> None:
    """Agents that work side by side process each message once, and none is left."""
    a = ctx.agent("a")
    workers = [ctx.agent(f"w{n % 3}") for n in range(6)]
    names = [send(a, f"w{n % 3}", payload={"n": n}) for n in range(60)]

    def work(session: Any) -> Any:
        done: list[str] = []
        for _ in range(len(names)):  # a bus that shows and never gives must not keep us here
            messages = receive(session, limit=5)
            if not messages:
                break
            for message in messages:
                if claim(session, message["id"]):
                    done.append(message["id"])
                    complete(session, message["id"])
        return {"done": done}

    results = at_once(*(lambda s=session: work(s) for session in workers))
    done = [name for result in results if isinstance(result, dict) for name in result["done"]]
    ctx.expect(
        "comms.lease.24", sorted(done) == sorted(names), f"60 messages, {len(done)} done, {len(set(done))} different"
    )
    left = [ids(receive(session)) for session in workers[:3]]
    ctx.expect("comms.lease.25", left == [[], [], []], f"left over: {left}")
