"""presence: the report of each agent on itself, and counters that tell the truth."""

from __future__ import annotations

from functools import partial
from operator import itemgetter

from busproof.bus.base import DoorError
from busproof.bus.session import Session
from busproof.play.scenarios.common import definite, raced, said
from busproof.play.scenarios.comms.common import claim, complete, database, fail, scenario, send
from busproof.play.suite import Ctx


@scenario("presence.heartbeat")
def heartbeat(ctx: Ctx) -> None:
    """The last heartbeat is what counts, one row an agent, for every process that asks."""
    a, b = ctx.agent("a"), ctx.agent("b")
    a.call("send_heartbeat", status="active", current_task="build")
    first = b.call("get_agent_health", agent_id="a")
    health = (first["status"], first.get("current_task"))
    ctx.expect("comms.presence.01", health == ("active", "build"), f"a said active, build; its health is {first}")
    a.call("send_heartbeat", status="degraded")
    second = b.call("get_agent_health", agent_id="a")
    health = (second["status"], second.get("current_task"))
    ctx.expect("comms.presence.02", health == ("degraded", None), f"then degraded, without a task: {second}")
    seen = [a.refusal("send_heartbeat", status=status) for status in ("active", "idle", "degraded", "failed")]
    ctx.expect("comms.presence.03", seen == [None] * 4, f"the four statuses: {[said(r) for r in seen]}")
    bad = [a.refusal("send_heartbeat", status=status) for status in ("busy", "", "ACTIVE")]
    ctx.expect("comms.presence.04", all(definite(r) for r in bad), f"other statuses: {[said(r) for r in bad]}")
    if ctx.has("sqlite"):
        with database(ctx) as db:
            rows = db.execute("SELECT count(*) FROM agent_status WHERE agent_id = 'a'").fetchone()[0]
        ctx.expect("comms.presence.05", rows == 1, f"the agent has {rows} rows")


@scenario("presence.beats_count_nothing")
def beats_count_nothing(ctx: Ctx) -> None:
    """Counters stand in the row that a heartbeat writes, and stay as they are."""
    a, b = ctx.agent("a"), ctx.agent("b")
    b.call("send_heartbeat", status="idle")
    done, failed, _ = (send(a, "b") for _ in range(3))
    claim(b, done)
    complete(b, done)
    fail(b, failed)
    counters = ("messages_pending", "messages_processed", "error_count")
    seen = []
    for status in ("idle", "active", "active"):
        seen.append([a.call("get_agent_health", agent_id="b")[name] for name in counters])
        b.call("send_heartbeat", status=status, current_task="build")
    seen.append([a.call("get_agent_health", agent_id="b")[name] for name in counters])
    ctx.expect("comms.presence.14", seen == seen[:1] * 4, f"{', '.join(counters)} before, between three beats: {seen}")


@scenario("presence.unknown")
def unknown(ctx: Ctx) -> None:
    """An agent that was never seen has no health."""
    answer = ctx.agent("a").refusal("get_agent_health", agent_id="nobody")
    ctx.expect("comms.presence.07", definite(answer, "NOT_FOUND"), f"the health of an agent never seen: {said(answer)}")


@scenario("presence.counters", needs=("clock",))
def counters(ctx: Ctx) -> None:
    """messages_pending, messages_processed and error_count equal what happened, at every step (C12)."""
    a, b = ctx.agent("a"), ctx.agent("b")
    steps: list[tuple[int, int, int]] = []
    stored_pending: list[tuple[int, int]] = []

    def look() -> None:
        health = a.call("get_agent_health", agent_id="b")
        steps.append((health["messages_pending"], health["messages_processed"], health["error_count"]))
        if ctx.has("sqlite"):
            with database(ctx) as db:
                stored_pending.append(
                    tuple(
                        db.execute(
                            "SELECT (SELECT messages_pending FROM agent_status WHERE agent_id = 'b'),"
                            " (SELECT count(*) FROM messages WHERE to_agent = 'b' AND status = 'pending')"
                        ).fetchone()
                    )
                )

    b.call("send_heartbeat", status="idle")
    names = [send(a, "b") for _ in range(4)]
    look()
    claim(b, names[0])
    look()
    complete(b, names[0])
    look()
    fail(b, names[1])
    look()
    ctx.advance(10_000)
    look()
    for _ in range(2):
        fail(b, names[1])
        ctx.advance(10_000)
    look()
    send(a)
    look()
    ctx.advance(3_600_000)
    a.call("cleanup_expired_messages")
    look()
    wanted = [(4, 0, 0), (3, 0, 0), (3, 1, 0), (2, 1, 1), (3, 1, 1), (2, 1, 3), (2, 1, 3), (0, 1, 3)]
    ctx.expect("comms.presence.08", steps[0][0] == 4, f"after four sends: {steps[:1]}")
    why = (
        "pending, processed and errors after: 4 sends, a claim, its completion, a failure, its delay, two more"
        f" failures, a broadcast, an hour and a clean-up: {steps}; wanted {wanted}"
    )
    ctx.expect("comms.presence.09", steps == wanted, why)
    untouched, unfinished = (4, 3, 3, 2, 2, 2, 2, 0), (4, 4, 3, 3, 3, 2, 3, 3)
    bounds = zip(steps, untouched, unfinished, strict=True)
    ctx.expect("comms.presence.15", all(least <= step[0] <= most for step, least, most in bounds), why)
    # A failure may count as processed, too, each time or for good; and only a final failure may count as an error.
    processed = ([0, 0, 1, 1, 1, 1, 1, 1], [0, 0, 1, 2, 2, 4, 4, 4], [0, 0, 1, 1, 1, 2, 2, 2])
    errors = ([0, 0, 0, 1, 1, 3, 3, 3], [0, 0, 0, 0, 0, 1, 1, 1])
    good = [step[1] for step in steps] in processed and [step[2] for step in steps] in errors
    ctx.expect("comms.presence.13", good, why)
    _at_once(ctx, a)
    off = [pair for pair in stored_pending if pair[0] != pair[1]]
    if ctx.has("sqlite"):
        ctx.expect(
            "comms.presence.10", not off, f"messages_pending against the rows that are pending: {stored_pending}"
        )


def _at_once(ctx: Ctx, a: Session) -> None:
    """Three processes of an agent complete a message each, one fails, and two messages come: each is counted."""
    pool = [ctx.agent("b") for _ in range(4)]
    names = [send(a, "b") for _ in pool]
    for session, name in zip(pool, names, strict=True):
        claim(session, name)
    counted = itemgetter("messages_pending", "messages_processed", "error_count")
    before = counted(a.call("get_agent_health", agent_id="b"))
    raced(
        ctx,
        *(partial(complete, session, name) for session, name in zip(pool[1:], names[1:], strict=True)),
        partial(complete, pool[0], names[0], "it broke"),
        *(lambda sender=sender: {"message_id": send(sender, "b")} for sender in (a, ctx.agent("c"))),
    )
    after = counted(a.call("get_agent_health", agent_id="b"))
    more = tuple(now - then for now, then in zip(after, before, strict=True))
    why = f"three completions, a failure and two sends at once changed pending, processed and errors by {more}"
    ctx.expect("comms.presence.13", more[1] in (3, 4) and more[2] in (0, 1), why)
    ctx.expect("comms.presence.08", more[0] == 2, why)


@scenario("presence.never_seen")
def never_seen(ctx: Ctx) -> None:
    """A message to an agent that never said a word makes its row (C12)."""
    a = ctx.agent("a")
    send(a, "newcomer")
    try:
        pending = a.call("get_agent_health", agent_id="newcomer")["messages_pending"]
    except DoorError as error:
        pending = str(error)
    ctx.expect("comms.presence.12", pending == 1, f"one message to an agent never seen; messages_pending: {pending}")
