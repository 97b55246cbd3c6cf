"""retry: a failed message comes back, three times at most, and then lies where it can be found."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

from busproof.bus.base import Lost, Refused
from busproof.bus.session import Session
from busproof.contract.comms import CONTRACT
from busproof.play.scenarios.common import Row, definite, said
from busproof.play.scenarios.comms.common import claim, complete, database, fail, receive, scenario, sees, send, stored
from busproof.play.scenarios.halves import TIMES, halves
from busproof.play.suite import Ctx

LONG_MS = 10_000  # longer than any retry delay


def fail_for_good(ctx: Ctx, session: Session, message_id: str, error: str = "it broke") -> bool:
    """Three failures, with the retry delays between them."""
    tried = []
    for _ in range(3):
        tried.append(fail(session, message_id, error))
        ctx.advance(LONG_MS)
    return all(tried)


@scenario("retry.comes_back", needs=("clock",))
def comes_back(ctx: Ctx) -> None:
    """A failed message is pending again after its delay, and each claim counts (C1)."""
    a, b = ctx.agent("a"), ctx.agent("b")
    name = send(a, "b")
    fail(b, name, "first")
    if ctx.has("sqlite"):
        row = stored(ctx, name)
        good = (row.get("status"), row.get("error")) == ("failed", "first")
        ctx.expect("comms.retry.01", good, f"the row of a message that failed: {row}")
    at_once_again = sees(b, name) or claim(b, name)
    ctx.advance(LONG_MS)
    back = sees(b, name) and claim(b, name)
    ctx.expect("comms.retry.02", back, "a message that failed once is never claimable again")
    ctx.expect("comms.retry.03", not at_once_again, "a message that failed was claimable at once, without a delay")
    if ctx.has("sqlite"):
        count, claims = stored(ctx, name).get("delivery_count"), 2 if back else 1
        ctx.expect("comms.retry.04", count == claims, f"claims {claims}, its delivery_count is {count}")
    complete(b, name)
    ctx.advance(LONG_MS)
    ctx.expect("comms.retry.05", not sees(b, name), "a message that failed and was then completed is received again")


@scenario("retry.third_failure", needs=("clock",))
def third_failure(ctx: Ctx) -> None:
    """The third failure moves the message to the dead letter queue, whole, and no earlier one does."""
    a, b = ctx.agent("a"), ctx.agent("b")
    name = send(a, "b", payload={"k": [1, "ü"]}, correlation_id="c", priority=8)
    letters: list[int] = []
    for number in range(3):
        if not fail(b, name, f"error {number}") and not any(letters):
            ctx.expect("comms.retry.02", False, f"after {number} failures it is never claimable again")
            return  # no third failure, and no letter
        letters.append(len(a.call("dead_letters")["dead_letters"]))
        ctx.advance(LONG_MS)
    ctx.expect("comms.retry.07", letters == [0, 0, 1], f"dead letters after each of three failures: {letters}")
    shown = sees(b, name) or claim(b, name)
    ctx.expect("comms.retry.08", not shown, "a dead letter is still received or claimed")
    letter = next(iter(a.call("dead_letters")["dead_letters"]), None)
    if letter is None:
        return  # nothing is there to be looked at
    ctx.expect("comms.retry.09", letter.get("id") == name, f"the letter's id is not {name}: {letter}")
    original = letter.get("original_message")
    original = original if isinstance(original, dict) else {}
    wanted = {
        "id": name,
        "from_agent": "a",
        "to_agent": "b",
        "payload": {"k": [1, "ü"]},
        "correlation_id": "c",
        "priority": 8,
    }
    same = {key: original.get(key) for key in wanted} == wanted
    ctx.expect("comms.retry.10", same, f"sent {wanted}; the letter holds {original}")
    good = (letter.get("error"), letter.get("retry_count")) == ("error 2", 3) and letter.get("moved_at") is not None
    ctx.expect("comms.retry.11", good, f"the last error was 'error 2', the third: {letter}")
    if ctx.has("sqlite"):
        with database(ctx) as db:
            row = db.execute("SELECT * FROM dead_letter_queue WHERE id = ?", (name,)).fetchone()
        is_json = row is not None and json.loads(row["original_message"]).get("id") == name
        ctx.expect(
            "comms.retry.12",
            is_json and not stored(ctx, name),
            f"the queue's row: {dict(row) if row else None}; a message: {bool(stored(ctx, name))}",
        )
    many = [send(s, "b") for s, times in ((a, 100), (b, 20)) for _ in range(times)]  # more than any page holds
    for _ in range(3):
        for message_id in many:
            fail(b, message_id)
        ctx.advance(LONG_MS)
    queue = {letter["id"] for letter in a.call("dead_letters")["dead_letters"]}
    why = f"{len(many)} more messages failed three times; of them in the queue: {len(queue & {*many})}"
    ctx.expect("comms.retry.07", queue >= {*many}, why)


@scenario("retry.broadcast", needs=("clock",))
def broadcast(ctx: Ctx) -> None:
    """One agent's failures with a broadcast are its own."""
    a, b, c = (ctx.agent(name) for name in "abc")
    name = send(a)
    failed = fail_for_good(ctx, b, name)
    letters = a.call("dead_letters")["dead_letters"]
    if not failed and not letters:  # no third failure: no failed message comes back, or no broadcast does
        own = send(a, "b")
        fail(b, own)
        ctx.advance(LONG_MS)
        row = "comms.route.38" if ctx.has("sqlite") and sees(b, own) else "comms.retry.02"
        ctx.expect(row, False, "a broadcast that failed once or twice is never claimable again")
        return
    ctx.expect("comms.retry.16", failed and len(letters) == 1 and not sees(b, name), f"b failed three times: {letters}")
    ctx.expect(
        "comms.retry.17", sees(c, name) and claim(c, name), "one agent's dead letter hid a broadcast from another"
    )
    if not ctx.has("redrive"):
        return
    again = a.call("redrive", id=letters[0]["id"])["redriven"] if letters else False
    shown = {session.agent: sees(session, name) for session in (b, c)}
    why = f"b's dead letter of a broadcast that c holds was put back ({again}); shown to: {shown}"
    if ctx.expect("comms.retry.18", again and shown == {"b": True, "c": False}, why):
        late = send(a, ttl_seconds=3_000)
        fail_for_good(ctx, b, late)
        ctx.advance(3_600_000)
        letter = next(r["id"] for r in a.call("dead_letters")["dead_letters"] if r["original_message"]["id"] == late)
        again = a.call("redrive", id=letter)["redriven"]
        shown = {session.agent: sees(session, late) for session in (b, c)}
        why = f"the same of one that has expired, and was not cleaned up ({again}); shown to: {shown}"
        ctx.expect("comms.retry.18", again and shown == {"b": True, "c": False}, why)


@scenario("retry.a_death_is_no_failure", needs=("clock",))
def a_death_is_no_failure(ctx: Ctx) -> None:
    """Claims that timed out are deliveries, not failures: the queue holds messages that failed three times."""
    a, b = ctx.agent("a"), ctx.agent("b")
    name = send(a, "b")
    for _ in range(4):
        claim(b, name)
        ctx.advance(60_001)
    fail(b, name)
    ctx.advance(LONG_MS)
    letters = a.call("dead_letters")["dead_letters"]
    ctx.expect("comms.retry.19", letters == [] and sees(b, name), f"four lost claims and one failure: {letters}")


@scenario("retry.send_with_retry", needs=("send_with_retry",))
def send_with_retry(ctx: Ctx) -> None:
    """One message for one call, however many attempts it takes; an error that no retry can mend is raised."""
    a, b = ctx.agent("a"), ctx.agent("b")
    name = a.call("send_with_retry", to_agent="b", message_type="note", payload={"n": 1})["message_id"]
    came = receive(b)
    ctx.expect("comms.retry.20", [m["id"] for m in came] == [name], f"one call, b received {came}")
    # A bus that tries again would first wait for 30 s or more; the kit does not wait that long.
    bad: Row = {"to_agent": "b", "message_type": "note", "payload": None}
    taken: Row = {**bad, "payload": {"n": 2}, "message_id": name}
    answers = [_given_up(ctx, wrong) for wrong in (bad, taken)]
    good = all(not isinstance(answer, Lost) and definite(answer) for answer in answers) and len(receive(b)) == 1
    first, second = (str(answer) if isinstance(answer, Lost) else said(answer) for answer in answers)
    why = f"no payload: {first}; an id that other content has: {second}"
    ctx.expect("comms.retry.21", good, why)


@scenario("retry.sends_the_same", needs=("send_with_retry", "clock"))
def sends_the_same(ctx: Ctx) -> None:
    """Sent by send_message or with retries, a message has the same members, and lives as long."""
    a, b = ctx.agent("a"), ctx.agent("b")
    said_with: list[Row] = [
        {},
        {"ttl_seconds": None},
        {"ttl_seconds": 10},
        {"channel": "urgent"},
        {"channel": "urgent", "ttl_seconds": None},
        {"channel": "urgent", "priority": 9, "correlation_id": "c", "ttl_seconds": 1_000},
    ]
    to_all: Row = {"message_type": "note", "payload": {"n": [1, None]}}
    calls = [{**to_all, **to, **more} for more in said_with for to in ({}, {"to_agent": "b"})]
    pairs = [tuple(a.call(way, **call)["message_id"] for way in ("send_message", "send_with_retry")) for call in calls]
    wrong = []
    for passed_s in (0, 10, 290, 700, 2_600, 365 * 24 * 3_600):
        ctx.advance(passed_s * 1_000)
        there = {message.pop("id"): {**message, "timestamp": None} for message in receive(b, "general", "urgent")}
        wrong += [call for call, (name, other) in zip(calls, pairs, strict=True) if there.get(name) != there.get(other)]
    ctx.expect("comms.retry.28", not wrong, f"received otherwise, or not as long, as by send_message: {wrong[:3]}")


def _given_up(ctx: Ctx, message: Row) -> Refused | Lost | None:
    """How a send was refused; Lost where it is tried again and again, and None where it was taken."""
    sender = ctx.agent("a")
    try:
        return sender.refusal("send_with_retry", base_delay=60, timeout_s=10, **message)
    except Lost as lost:
        ctx.crash(sender)
        return lost


@scenario("retry.raises_the_last_error", needs=("send_with_retry", "limit", "clock"))
def raises_the_last_error(ctx: Ctx) -> None:
    """When every attempt failed, the error of the last is the caller's."""
    a = ctx.agent("a")
    for _ in range(100):
        send(a, "b")
    answer = a.refusal("send_with_retry", to_agent="b", message_type="note", payload={}, base_delay=0.01)
    ctx.expect(
        "comms.retry.22", answer is not None and answer.code == "RATE_LIMITED", f"an empty bucket: {said(answer)}"
    )


@scenario("retry.schedule", needs=("send_with_retry",))
def schedule(ctx: Ctx) -> None:
    """Three attempts, a second and two between them, spread by jitter."""
    a = ctx.agent("a")

    def delays(**params: Any) -> list[float]:
        return [round(float(d), 6) for d in a.call("retry_delays", **params)["delays_s"]]

    ctx.expect("comms.retry.23", len(delays()) == 2, f"the default attempts leave {len(delays())} pauses")
    ctx.expect("comms.retry.24", delays() == [1.0, 2.0], f"the default delays are {delays()}")
    four = delays(max_attempts=4, base_delay=0.5)
    ctx.expect("comms.retry.25", four == [0.5, 1.0, 2.0], f"four attempts from half a second: {four}")
    spread = [delays(jitter=jitter) for jitter in (0.5, 1.5)]
    ctx.expect("comms.retry.26", spread == [[0.5, 1.0], [1.5, 3.0]], f"jitter 0.5 and 1.5 give {spread}")


PLACES = {"messages": "id", "dead_letter_queue": "id"}


@scenario("retry.whole", needs=("clock", "redrive", "sqlite"))
def whole(ctx: Ctx) -> None:
    """A message that is buried, or put back, is in one place at every moment: nobody sees it in both, or in neither."""
    a, b, seen = ctx.agent("a"), ctx.agent("b"), []
    path = ctx.store / CONTRACT.store
    for _ in range(TIMES):
        name = send(a, "b")
        for _ in range(2):
            fail(b, name)
            ctx.advance(LONG_MS)
        claim(b, name)
        last = partial(b.call, "complete_message", message_id=name, error="it broke")
        seen += [f"of its last failure {sight}" for sight in halves(path, PLACES, last)]
        seen += [f"of its redrive {sight}" for sight in halves(path, PLACES, partial(a.call, "redrive", id=name))]
    ctx.expect("comms.retry.29", not seen, f"seen in {len(seen)} of {2 * TIMES} calls: {'; '.join(seen[:3])}")
