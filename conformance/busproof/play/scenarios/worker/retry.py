"""retry: a failed message is tried again, does not block for ever, and nobody polls in vain."""

from __future__ import annotations

from busproof.play.scenarios.worker.common import ids, poll, publish, scenario
from busproof.play.suite import Ctx


@scenario("retry.loop_acks_after_success", needs=("process_loop",))
def loop_acks_after_success(ctx: Ctx) -> None:
    """The loop acknowledges the messages that its handler has done, and nothing else."""
    a = ctx.agent("a")
    for number in range(3):
        publish(a, id=f"m{number}")
    reply = a.call("process_loop", limit=2)
    left = ids(poll(a))
    good = reply["handled"] == ["m0", "m1"] and left == ["m2"]
    ctx.expect("worker.retry.01", good, f"a pass of two handled {reply['handled']}, unacknowledged are {left}")


@scenario("retry.failed_is_redelivered", needs=("process_loop",))
def failed_is_redelivered(ctx: Ctx) -> None:
    """A message whose handler failed is delivered again."""
    a = ctx.agent("a")
    publish(a, id="m0")
    publish(a, id="m1")
    first = a.call("process_loop", fail_ids=["m1"])
    left = ids(poll(a))
    second = a.call("process_loop")
    good = first.get("failed") == "m1" and left == ["m1"] and second["handled"] == ["m1"]
    ctx.expect("worker.retry.02", good, f"failed at m1: {first}; unacknowledged {left}; the next pass: {second}")


@scenario("retry.stops_the_batch", needs=("process_loop",))
def stops_the_batch(ctx: Ctx) -> None:
    """After a failure nothing behind it is handled in that pass."""
    a = ctx.agent("a")
    for number in range(4):
        publish(a, id=f"m{number}")
    reply = a.call("process_loop", fail_ids=["m1"])
    left = ids(poll(a))
    good = reply["handled"] == ["m0"] and left == ["m1", "m2", "m3"]
    ctx.expect("worker.retry.03", good, f"the handler failed at m1: handled {reply['handled']}, left {left}")


@scenario("retry.adaptive", needs=("poll_intervals",))
def adaptive(ctx: Ctx) -> None:
    """200 ms when working, times 1.5 on each empty poll, at most 2 s, 200 ms again after a message."""
    a = ctx.agent("a")
    intervals = a.call("poll_intervals", polls=[True] + [False] * 8 + [True, False])["intervals_ms"]
    grown = [round(value) for value in intervals]
    ctx.expect("worker.retry.04", grown[:1] == [200], f"after a poll that found messages: {grown[:1]} ms, wanted 200")
    steps = [200 * 1.5**n for n in range(1, 6)]
    close = all(abs(got - want) <= 1 for got, want in zip(intervals[1:6], steps, strict=False))
    ctx.expect("worker.retry.06", close, f"on empty polls: {grown[1:6]} ms, wanted {[round(s) for s in steps]}")
    ctx.expect("worker.retry.05", grown[6:9] == [2000] * 3, f"after long silence: {grown[6:9]} ms, wanted 2000")
    ctx.expect(
        "worker.retry.07", grown[9:] == [200, 300], f"after a message, then none: {grown[9:]} ms, wanted 200, 300"
    )


@scenario("retry.dead_letter", needs=("dead_letter", "process_loop"), deliveries_max=3)
def dead_letter(ctx: Ctx) -> None:
    """The third failed delivery moves a message to the dead letters; those behind it go on."""
    a = ctx.agent("a")
    publish(a, id="poison", to="a")
    publish(a, id="next", to="a")
    early = []
    for _ in range(2):
        a.call("process_loop", fail_ids=["poison"])
        early.append(ids(a.call("dead_letters")["messages"]))
    a.call("process_loop", fail_ids=["poison"])
    dead = ids(a.call("dead_letters")["messages"])
    good = early == [[], []] and dead == ["poison"]
    ctx.expect("worker.retry.08", good, f"dead letters after failures 1 and 2: {early}, after 3: {dead}")
    last = a.call("process_loop", fail_ids=["poison"])
    left = ids(poll(a))
    good = left == [] and last.get("failed") is None
    ctx.expect("worker.retry.09", good, f"after it was dead-lettered a pass handled {last['handled']}, left {left}")


@scenario("retry.redrive", needs=("dead_letter", "process_loop"), deliveries_max=1)
def redrive(ctx: Ctx) -> None:
    """A redriven message is delivered to its agent again, with its payload."""
    a = ctx.agent("a")
    publish(a, id="poison", to="a", payload={"n": 7})
    a.call("process_loop", fail_ids=["poison"])
    dead = a.call("dead_letters")["messages"]
    redriven = a.call("redrive", seq=dead[0]["seq"])["redriven"] if dead else None
    again = [row.get("payload") for row in poll(a)]
    twice = a.call("redrive", seq=dead[0]["seq"])["redriven"] if dead else None
    left = ids(a.call("dead_letters")["messages"])
    good = redriven is True and again == [{"n": 7}] and twice is False and left == []
    why = f"dead {ids(dead)}, redriven {redriven}, delivered {again}, redriven again {twice}, dead letters then {left}"
    ctx.expect("worker.retry.10", good, why)


@scenario("retry.dead_letter_is_off", needs=("dead_letter", "process_loop"))
def dead_letter_is_off(ctx: Ctx) -> None:
    """Without the option a failing message stays, however often it fails."""
    a = ctx.agent("a")
    publish(a, id="poison")
    for _ in range(12):
        a.call("process_loop", fail_ids=["poison"])
    left, dead = ids(poll(a)), ids(a.call("dead_letters")["messages"])
    ctx.expect(
        "worker.retry.11", (left, dead) == (["poison"], []), f"after 12 failures: left {left}, dead letters {dead}"
    )
