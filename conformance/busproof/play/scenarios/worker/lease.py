"""lease: one holder of a task at a time, until it releases or its time runs out."""

from __future__ import annotations

import itertools
from typing import Any

from busproof.bus.base import DoorError
from busproof.bus.session import Session
from busproof.contract import CONTRACTS
from busproof.contract.worker import LEASE_MS
from busproof.play.scenarios.common import behind_a_lock
from busproof.play.scenarios.worker.common import database, publish, raced, scenario
from busproof.play.suite import Ctx


def claims(session: Session, task: str = "task") -> bool:
    """Does this agent get the task?"""
    return bool(session.call("try_claim_task", task_id=task)["claimed"])


def renews(session: Session, task: str = "task", **token: Any) -> bool:
    """Does this agent still hold the task?"""
    return bool(session.call("renew_claim", task_id=task, **token)["renewed"])


@scenario("lease.granted_after_a_wait", needs=("sqlite",))
def granted_after_a_wait(ctx: Ctx) -> None:
    """A claim waits while the kit holds the write lock, in real time: no lease can begin before the lock is free."""
    ctx.agent_in_real_time("first").call("try_claim_task", task_id="another")
    late = ctx.agent_in_real_time("late")
    free_ms = behind_a_lock(
        ctx.store / CONTRACTS["worker"].store, lambda: late.refusal("try_claim_task", task_id="task")
    )
    with database(ctx) as db:
        granted = db.execute("SELECT lease_until_ms FROM task_claims WHERE task_id = 'task'").fetchone()
    # One that waits less is refused, and has no lease.
    good = granted is None or granted[0] >= free_ms + LEASE_MS
    ctx.expect(
        "worker.lease.27", good, f"free at {free_ms}, and the lease of {LEASE_MS} ms ends at {granted and granted[0]}"
    )


@scenario("lease.boundary", needs=("clock",))
def boundary(ctx: Ctx) -> None:
    """A lease lives until the millisecond before its end."""
    a, b = ctx.agent("a"), ctx.agent("b")
    claims(a)
    ctx.advance(LEASE_MS - 1)
    before = claims(b)
    ctx.expect("worker.lease.06", not before, "a lease was taken over one millisecond before its end")
    ctx.advance(1)
    at = claims(b)
    ctx.expect("worker.lease.07", at, "a lease whose lease_until_ms is now was still held")


@scenario("lease.renew_after_retake", needs=("clock",))
def renew_after_retake(ctx: Ctx) -> None:
    """Once another holds the task the old holder can neither renew nor release it."""
    a, b, c = (ctx.agent(name) for name in "abc")
    claims(a)
    ctx.advance(LEASE_MS + 1)
    claims(b)
    renewed = renews(a)
    a.call("release_claim", task_id="task")
    taken = claims(c)
    good = not renewed and not taken
    ctx.expect("worker.lease.12", good, f"the old holder renewed: {renewed}; its release freed the task: {taken}")


@scenario("lease.tasks_are_independent")
def tasks_are_independent(ctx: Ctx) -> None:
    """A claim, a release and a renewal touch their own task only; names are exact."""
    a, b = ctx.agent("a"), ctx.agent("b")
    names = ["task", "Task", "task ", "task%", "t_sk"]
    granted = [claims(a, name) for name in names]
    a.call("release_claim", task_id="t_sk")
    still = [name for name in names[:-1] if not renews(a, name)]
    freed = claims(b, "t_sk")
    good = all(granted) and not still and freed
    ctx.expect("worker.lease.15", good, f"claims of {names}: {granted}; after releasing the last one lost: {still}")


@scenario("lease.a_fault_is_not_contention", needs=("sqlite",))
def a_fault_is_not_contention(ctx: Ctx) -> None:
    """A broken store is an error with its own code, not "someone else has it"."""
    a = ctx.agent("a")
    publish(a)
    claims(a, "before")
    with database(ctx) as db:
        db.execute("ALTER TABLE task_claims RENAME TO gone")
    answer: Any
    try:
        answer = a.call("try_claim_task", task_id="free")
        good = False
    except DoorError as error:
        answer, good = error, getattr(error, "code", "LOST") not in ("LOST", "BUSY")
    ctx.expect("worker.lease.16", good, f"a claim of a free task on a store without task_claims: {answer}")


@scenario("lease.token_rises", needs=("fencing",))
def token_rises(ctx: Ctx) -> None:
    """Every grant of a task has a larger token than all before it, releases and expiries included."""
    a, b = ctx.agent("a"), ctx.agent("b")
    tokens = [a.call("try_claim_task", task_id="task").get("token")]
    a.call("release_claim", task_id="task")
    tokens.append(b.call("try_claim_task", task_id="task").get("token"))
    b.call("release_claim", task_id="task")
    released = list(tokens)
    tokens.append(a.call("try_claim_task", task_id="task").get("token"))
    if ctx.hello.clock == "manual":
        ctx.advance(LEASE_MS + 1)
        tokens.append(b.call("try_claim_task", task_id="task").get("token"))
    ctx.expect("worker.lease.17", _rising(tokens), f"successive grants of one task had tokens {tokens}")
    ctx.expect("worker.lease.20", _rising(released), f"grants with a release between them had tokens {released}")


def _rising(tokens: list[Any]) -> bool:
    return all(isinstance(t, int) for t in tokens) and all(x < y for x, y in itertools.pairwise(tokens))


@scenario("lease.race")
def race(ctx: Ctx) -> None:
    """When agents claim at the same moment, exactly one wins, every time."""
    sessions = [ctx.agent(name) for name in "abc"]
    for number in range(6):
        task = f"task-{number}"
        replies = raced(ctx, *(lambda s=s, task=task: s.call("try_claim_task", task_id=task) for s in sessions))
        won = [isinstance(reply, dict) and bool(reply.get("claimed")) for reply in replies]
        if won.count(True) != 1:
            break  # the last calls are the evidence, so this round is the last one
    ctx.expect("worker.lease.21", won.count(True) == 1, f"three agents claimed {task} at once, and were told {replies}")


@scenario("lease.claim_survives_kill")
def claim_survives_kill(ctx: Ctx) -> None:
    """The death of its holder's process does not free a task before its time."""
    a, b = ctx.agent("a"), ctx.agent("b")
    claims(a)
    ctx.crash(a)
    taken = claims(b)
    back = renews(ctx.agent("a"))
    good = back and not taken
    ctx.expect(
        "worker.lease.23", good, f"the holder was killed: another claims {taken}, its next process renews {back}"
    )


@scenario("lease.renew_extends", needs=("clock",))
def renew_extends(ctx: Ctx) -> None:
    """Renewed every 30 seconds a claim lasts, each time for 60 seconds from then."""
    a, b = ctx.agent("a"), ctx.agent("b")
    claims(a)
    for _ in range(4):
        ctx.advance(30_000)
        renews(a)
    ctx.advance(LEASE_MS - 1)
    before = claims(b)
    ctx.advance(2)  # not at the end itself: lease.07 alone says whose a task is then
    after = claims(b)
    why = f"the other's claims 1 ms before and 1 ms after 60 s from the last renewal: {before}, {after}"
    ctx.expect("worker.lease.09", (before, after) == (False, True), why)
