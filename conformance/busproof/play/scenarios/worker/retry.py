"""retry: a failed message is tried again, does not block for ever, and nobody polls in vain."""

from __future__ import annotations

from busproof.play.scenarios.worker.common import ids, poll, publish, scenario
from busproof.play.suite import Ctx


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
