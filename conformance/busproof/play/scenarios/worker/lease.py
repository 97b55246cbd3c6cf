"""lease: one holder of a task at a time, until it releases or its time runs out."""

from __future__ import annotations

import itertools
import threading
import time
from typing import Any

from busproof.bus.base import DoorError
from busproof.bus.session import Session
from busproof.play.scenarios.worker.common import database, publish, raced, scenario
from busproof.play.suite import Ctx

LEASE_MS = 60_000
WAIT_S = 0.5  # well above what clocks of one machine differ by


def claims(session: Session, task: str = "task") -> bool:
    """Does this agent get the task?"""
    return bool(session.call("try_claim_task", task_id=task)["claimed"])


def renews(session: Session, task: str = "task", **token: Any) -> bool:
    """Does this agent still hold the task?"""
    return bool(session.call("renew_claim", task_id=task, **token)["renewed"])


@scenario("lease.first_wins")
def first_wins(ctx: Ctx) -> None:
    """The first claim is granted, the next is not."""
    a, b = ctx.agent("a"), ctx.agent("b")
    first, second = claims(a), claims(b)
    ctx.expect("worker.lease.01", first, "the first claim of a free task was not granted")
    ctx.expect("worker.lease.03", not second, "a task with a live claim was granted to another agent")


@scenario("lease.granted_after_a_wait", needs=("sqlite",))
def granted_after_a_wait(ctx: Ctx) -> None:
    """A claim waits while the kit holds the write lock, in real time: no lease can begin before the lock is free."""
    ctx.agent_in_real_time("first").call("try_claim_task", task_id="another")
    late = ctx.agent_in_real_time("late")
    with database(ctx) as db:
        db.execute("BEGIN IMMEDIATE")
        thread = threading.Thread(target=lambda: late.refusal("try_claim_task", task_id="task"))
        thread.start()
        thread.join(WAIT_S)
        free_ms = time.time_ns() // 1_000_000
        db.execute("ROLLBACK")
        thread.join()
        granted = db.execute("SELECT lease_until_ms FROM task_claims WHERE task_id = 'task'").fetchone()
    # One that waits less is refused, and has no lease.
    good = granted is None or granted[0] >= free_ms + LEASE_MS
    ctx.expect(
        "worker.lease.27", good, f"free at {free_ms}, and the lease of {LEASE_MS} ms ends at {granted and granted[0]}"
    )


@scenario("lease.own_second_claim")
def own_second_claim(ctx: Ctx) -> None:
    """A holder that claims again is told that the task is taken."""
    a = ctx.agent("a")
    first, second = claims(a), claims(a)
    ctx.expect("worker.lease.04", first and not second, f"the same agent's claims were {first}, then {second}")


@scenario("lease.sixty_seconds", needs=("clock",))
def sixty_seconds(ctx: Ctx) -> None:
    """A claim is exclusive for 60 seconds."""
    a, b = ctx.agent("a"), ctx.agent("b")
    claims(a)
    ctx.advance(LEASE_MS - 1_000)
    early = claims(b)
    ctx.advance(2_000)
    late = claims(b)
    ctx.expect("worker.lease.02", not early and late, f"another's claim after 59 s: {early}, after 61 s: {late}")


@scenario("lease.expires", needs=("clock",))
def expires(ctx: Ctx) -> None:
    """The task of a dead agent is claimable again when its lease has run out, once."""
    a, b, c = (ctx.agent(name) for name in "abc")
    claims(a)
    ctx.crash(a)
    ctx.advance(LEASE_MS + 1)
    taken = claims(b), claims(c)
    ctx.expect("worker.lease.05", taken == (True, False), f"a died, its lease ran out: b and c were told {taken}")


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


@scenario("lease.renew_extends", needs=("clock",))
def renew_extends(ctx: Ctx) -> None:
    """Renewed every 30 seconds a claim lasts, each time for 60 seconds from then."""
    a, b = ctx.agent("a"), ctx.agent("b")
    claims(a)
    renewed, stolen = [], []
    for _ in range(4):
        ctx.advance(30_000)
        renewed.append(renews(a))
        stolen.append(claims(b))
    good = all(renewed) and not any(stolen)
    ctx.expect("worker.lease.08", good, f"renewed every 30 s: {renewed}; the other's claims in between: {stolen}")
    ctx.advance(LEASE_MS - 1)
    before = claims(b)
    ctx.advance(2)  # not at the end itself: lease.07 alone says whose a task is then
    after = claims(b)
    why = f"the other's claims 1 ms before and 1 ms after 60 s from the last renewal: {before}, {after}"
    ctx.expect("worker.lease.09", (before, after) == (False, True), why)


@scenario("lease.only_the_holder_renews")
def only_the_holder_renews(ctx: Ctx) -> None:
    """Another agent's renewal is refused, and so is one of a task that nobody claimed."""
    a, b = ctx.agent("a"), ctx.agent("b")
    claims(a)
    by_other, of_nothing, by_holder = renews(b), renews(a, "free"), renews(a)
    free = claims(b, "free")
    good = (by_other, of_nothing, by_holder, free) == (False, False, True, True)
    why = f"renewed by another: {by_other}, of an unclaimed task: {of_nothing} (then claimable: {free})"
    ctx.expect("worker.lease.10", good, f"{why}, by the holder: {by_holder}")


@scenario("lease.renew_after_expiry", needs=("clock",))
def renew_after_expiry(ctx: Ctx) -> None:
    """A late holder may renew as long as nobody took the task."""
    a, b = ctx.agent("a"), ctx.agent("b")
    claims(a)
    ctx.advance(LEASE_MS + 5_000)
    renewed = renews(a)
    taken = claims(b)
    ctx.expect("worker.lease.11", renewed and not taken, f"renewed 5 s late: {renewed}; then claimable: {taken}")


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


@scenario("lease.release_frees")
def release_frees(ctx: Ctx) -> None:
    """A released task is free at once."""
    a, b = ctx.agent("a"), ctx.agent("b")
    claims(a)
    a.call("release_claim", task_id="task")
    held, taken = renews(a), claims(b)
    good = taken and not held
    ctx.expect("worker.lease.13", good, f"after a release: the old holder renews {held}, another claims {taken}")


@scenario("lease.only_the_holder_releases")
def only_the_holder_releases(ctx: Ctx) -> None:
    """Another agent's release frees nothing."""
    a, b = ctx.agent("a"), ctx.agent("b")
    claims(a)
    b.call("release_claim", task_id="task")
    taken, kept = claims(b), renews(a)
    good = kept and not taken
    ctx.expect("worker.lease.14", good, f"after another's release: claimable {taken}, its holder renews {kept}")


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


@scenario("lease.old_token_is_fenced", needs=("fencing", "clock"))
def old_token_is_fenced(ctx: Ctx) -> None:
    """An agent that shows the token of an earlier grant is refused, even if it holds the task anew."""
    a, b = ctx.agent("a"), ctx.agent("b")
    old = a.call("try_claim_task", task_id="task")["token"]
    ctx.advance(LEASE_MS + 1)
    claims(b)
    ctx.advance(LEASE_MS + 1)
    new = a.call("try_claim_task", task_id="task")["token"]
    with_old, with_new = renews(a, token=old), renews(a, token=new)
    why = f"renewed with the old token: {with_old}, with the new one: {with_new}"
    ctx.expect("worker.lease.18", (with_old, with_new) == (False, True), why)
    a.call("release_claim", task_id="task", token=old)
    freed_by_old = claims(b)
    a.call("release_claim", task_id="task", token=new)
    freed_by_new = claims(b)
    why = f"freed by a release with the old token: {freed_by_old}, with the new one: {freed_by_new}"
    ctx.expect("worker.lease.19", (freed_by_old, freed_by_new) == (False, True), why)


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


@scenario("lease.row", needs=("sqlite", "clock"))
def row(ctx: Ctx) -> None:
    """task_claims says who holds what, since when and until when."""
    a = ctx.agent("a")
    claims(a)
    at_ms = ctx.now_ms
    rows = [_claim_rows(ctx)]
    ctx.advance(10_000)
    renews(a)
    rows.append(_claim_rows(ctx))
    a.call("release_claim", task_id="task")
    rows.append(_claim_rows(ctx))
    held = ("task", "a", at_ms)
    wanted = [[(*held, at_ms + LEASE_MS)], [(*held, at_ms + 10_000 + LEASE_MS)], []]
    ctx.expect("worker.lease.24", rows == wanted, f"claimed, renewed, released: the rows were {rows}, wanted {wanted}")


def _claim_rows(ctx: Ctx) -> list[tuple[Any, ...]]:
    with database(ctx) as db:
        query = "SELECT task_id, claimed_by, claimed_at_ms, lease_until_ms FROM task_claims"
        return [tuple(found) for found in db.execute(query)]
