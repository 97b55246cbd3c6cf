"""route: which agent is given which message."""

from __future__ import annotations

from busproof.bus.session import Session
from busproof.play.scenarios.worker.common import ids, poll, publish, reader, scenario
from busproof.play.suite import Ctx


def _agents(ctx: Ctx, names: str) -> list[Session]:
    """Agents, whom the bus knows before anything is sent, where it must."""
    return [ctx.agent(name) if ctx.has("late_readers") else reader(ctx, name) for name in names]


@scenario("route.broadcast_reaches_all", needs=("broadcast",))
def broadcast_reaches_all(ctx: Ctx) -> None:
    """A message without `to` is delivered to every agent, its sender included."""
    a, b, c = _agents(ctx, "abc")
    publish(a, id="all")
    publish(a, id="all-too", to=None)
    for_b, for_c, for_a = ids(poll(b)), ids(poll(c)), ids(poll(a))
    both = ["all", "all-too"]
    ctx.expect("worker.route.01", for_b == for_c == both, f"two broadcasts: b was given {for_b}, c {for_c}")
    if ctx.has("self_delivery"):
        ctx.expect("worker.route.04", for_a == both, f"two broadcasts: their sender was given {for_a}")


@scenario("route.addressed_to_one")
def addressed_to_one(ctx: Ctx) -> None:
    """A message to one agent is delivered to it and to nobody else, its sender included."""
    a, b, c = _agents(ctx, "abc")
    publish(a, id="to-b", to="b")
    publish(a if ctx.has("self_delivery") else c, id="to-a", to="a")
    came = {session.agent: ids(poll(session)) for session in (a, b, c)}
    reached = came["b"] == ["to-b"] and "to-a" in came["a"]
    ctx.expect("worker.route.02", reached, f"one message each to b and a: polls gave {came}")
    only = "to-b" not in came["a"] + came["c"] and "to-a" not in came["b"] + came["c"]
    ctx.expect("worker.route.03", only, f"one message each to b and a: polls gave {came}")


@scenario("route.one_order", needs=("broadcast",))
def one_order(ctx: Ctx) -> None:
    """Broadcasts and addressed messages are mixed in the order in which they were published, under a limit too."""
    a, b = _agents(ctx, "ab")
    for number in range(8):
        publish(a, id=f"m{number}", to=(None, "b", "c", "b")[number % 4])
    wanted = ["m0", "m1", "m3", "m4", "m5", "m7"]
    whole, few = ids(poll(b)), ids(poll(b, limit=4))
    good = whole == wanted and few == wanted[:4]
    ctx.expect("worker.route.05", good, f"b should see {wanted}: a poll gave {whole}, a poll of 4 {few}")


@scenario("route.names_are_exact")
def names_are_exact(ctx: Ctx) -> None:
    """Names that differ in case, blanks, width or pattern characters are different agents."""
    a = ctx.agent("a")
    names = ["worker", "Worker", "work_r", "NULL", "0"]
    if ctx.has("any_name"):
        names += ["worker ", "work%", "wörker", "*"]
    if not ctx.has("late_readers"):
        for name in names:
            poll(a, agent_id=name)
    for name in names:
        publish(a, id=f"to {name}", to=name)
    came = {name: ids(poll(a, agent_id=name)) for name in names}
    wrong = {name: shown for name, shown in came.items() if shown != [f"to {name}"]}
    ctx.expect("worker.route.06", not wrong, f"these agents were given other messages than their own: {wrong}")
