"""cursor: a reader's position moves forward, by acknowledgement only."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

from busproof.play.scenarios.worker.common import (
    acknowledge,
    at_once,
    database,
    definite,
    ids,
    poll,
    publish,
    reader,
    said,
    scenario,
    stranger_publishes,
)
from busproof.play.suite import Ctx

WAIT_MS = 20_000


@scenario("cursor.poll_does_not_advance")
def poll_does_not_advance(ctx: Ctx) -> None:
    """A poll may be repeated: it shows the same messages until they are acknowledged."""
    a, sender = reader(ctx, "a"), ctx.agent("sender")
    publish(sender, id="m1", to="a")
    publish(sender, id="m2", to="a")
    first, second = ids(poll(a)), ids(poll(a))
    ctx.expect("worker.cursor.01", first == second == ["m1", "m2"], f"two polls gave {first}, then {second}")
    acknowledge(a, poll(a)[:1])
    left = ids(poll(a))
    ctx.expect("worker.cursor.02", left == ["m2"], f"two delivered, one acknowledged: the next poll gave {left}")


@scenario("cursor.ack_beyond_the_log")
def ack_beyond_the_log(ctx: Ctx) -> None:
    """An ack above the newest message is refused, and makes no agent deaf, refused or not."""
    a, sender = reader(ctx, "a"), ctx.agent("sender")
    empty = a.refusal("ack", seq=1)
    publish(sender, id="m1", to="a")
    first = poll(a)
    newest = first[-1]["seq"] if first else 1
    refused = {seq: a.refusal("ack", seq=seq) for seq in (newest + 1, 10**9, 2**63 - 1)}
    soft = {seq: said(r) for seq, r in {**refused, 1: empty}.items() if not definite(r, "INVALID_ARGUMENT")}
    ctx.expect("worker.cursor.09", not soft, f"acks above the newest seq {newest} (1: on an empty log): {soft}")
    publish(sender, id="m2", to="a")
    heard = ids(poll(a))
    # Where one of them was taken, which is the row above, it may have acknowledged the first message. It cannot have
    # acknowledged a message that is published afterwards.
    is_all_refused = all(refused.values())
    is_deaf = "m2" not in heard or (is_all_refused and "m1" not in heard)
    ctx.expect("worker.cursor.10", not is_deaf, f"after such acks a poll gave {heard}")


@scenario("cursor.each_agent_its_own")
def each_agent_its_own(ctx: Ctx) -> None:
    """One agent's ack moves no other's cursor."""
    a, b, sender = reader(ctx, "a"), reader(ctx, "b"), ctx.agent("sender")
    publish(sender, id="to-b", to="b")
    publish(sender, id="to-a", to="a")
    acknowledge(a, poll(a))
    for_a, for_b = ids(poll(a)), ids(poll(b))
    ctx.expect("worker.cursor.12", (for_a, for_b) == ([], ["to-b"]), f"a acknowledged; a sees {for_a}, b sees {for_b}")


@scenario("cursor.killed_reader_gets_it_again")
def killed_reader(ctx: Ctx) -> None:
    """A reader killed between its poll and its ack is given the messages again."""
    a, sender = reader(ctx, "a"), ctx.agent("sender")
    for number in range(3):
        publish(sender, id=f"m{number}", to="a")
    acknowledge(a, poll(a)[:1])
    ctx.crash(a)
    again = ids(poll(ctx.agent("a")))
    ctx.expect("worker.cursor.13", "m1" in again and "m2" in again, f"the next process was given {again}")
    ctx.expect("worker.cursor.14", again == ["m1", "m2"], f"one of three was acknowledged; then it was given {again}")


@scenario("cursor.ack_survives_kill")
def ack_survives_kill(ctx: Ctx) -> None:
    """An acknowledged ack is there after its process was killed."""
    a, sender = reader(ctx, "a"), ctx.agent("sender")
    publish(sender, id="m1", to="a")
    acknowledge(a, poll(a))
    ctx.crash(a)
    left = ids(poll(ctx.agent("a")))
    ctx.expect("worker.cursor.15", left == [], f"an acknowledged message came again after a kill: {left}")


@scenario("cursor.wait", needs=("wait",))
def wait(ctx: Ctx) -> None:
    """A poll with wait_ms returns with the message that arrives, and empty if none does."""
    a, b = ctx.agent("a"), ctx.agent("b")
    nothing = ids(poll(b, wait_ms=50))
    ctx.expect("worker.cursor.20", nothing == [], f"a wait of 50 ms on an empty bus gave {nothing}")

    def wait_then_answer() -> dict[str, object]:
        return b.call("poll", wait_ms=WAIT_MS)

    def send_late() -> dict[str, object]:
        publish(a, id="other", to="somebody-else")
        return publish(a, id="late", to="b")

    def send_many() -> dict[str, object]:
        return a.call("publish_many", messages=[{"type": "note", "to": "b"}])

    def insert() -> dict[str, object]:
        return {"seq": stranger_publishes(ctx, "inserted", to_agent="b")}

    def announce() -> dict[str, object]:
        return a.call("transition", worker="w", to_state="ASSIGNED")

    def soon(send: Callable[[], dict[str, object]]) -> dict[str, object]:
        time.sleep(0.05)  # mostly the other waits by then
        return send()

    senders = {"publish": send_late, "publish_many": send_many, "another program": insert, "transition": announce}
    needs = {"publish_many": "publish_many", "another program": "sqlite", "transition": "states"}
    wrong = {}
    for sender, send in senders.items():
        if not ctx.has(*filter(None, [needs.get(sender)])):
            continue
        began_s = time.monotonic()
        came, _ = at_once(wait_then_answer, partial(soon, send))
        took_s = time.monotonic() - began_s
        rows = came["messages"] if isinstance(came, dict) else []
        if len(rows) != 1 or took_s > WAIT_MS / 2000 or (sender == "publish" and ids(rows) != ["late"]):
            wrong[sender] = f"{ids(rows) if isinstance(came, dict) else came} after {took_s:.1f} s"
            break
        acknowledge(b, rows)
    ctx.expect("worker.cursor.19", not wrong, f"a poll that waits {WAIT_MS} ms gave, when a message arrived by {wrong}")


@scenario("cursor.ack_of_no_message", needs=("sqlite",))
def ack_of_no_message(ctx: Ctx) -> None:
    """The newest seq is the newest message's: a retry by the seed's statement takes a number and stores nothing."""
    a = ctx.agent("a")
    stranger_publishes(ctx, "m0")
    newest = poll(a)[-1]["seq"]
    with database(ctx) as db:
        row = "INSERT INTO messages (id, ts_ms, from_agent, type) VALUES ('m0', 1, 'stranger', 'note')"
        db.execute(f"{row} ON CONFLICT(id) DO NOTHING")
    refusal = a.refusal("ack", seq=newest + 1)
    publish(a, id="m1")
    heard = ids(poll(a))
    good = definite(refusal, "INVALID_ARGUMENT") and heard == ["m0", "m1"]
    why = f"an ack one above the newest message: {said(refusal)}; the agent then hears {heard}"
    ctx.expect("worker.cursor.24", good, why)
