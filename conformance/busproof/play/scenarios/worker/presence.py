"""presence: which agents are alive, what they do, and in which state their work is."""

from __future__ import annotations

from typing import Any

from busproof.bus.session import Session
from busproof.play.scenarios.worker.common import definite, poll, said, scenario
from busproof.play.suite import Ctx

STATES = ["ASSIGNED", "WORKING", "IN_REVIEW", "APPROVED", "COMPLETED", "FAILED", "CANCELLED"]
ALLOWED = {
    (None, "ASSIGNED"),
    ("ASSIGNED", "WORKING"),
    ("WORKING", "IN_REVIEW"),
    ("IN_REVIEW", "APPROVED"),
    ("IN_REVIEW", "WORKING"),
    ("APPROVED", "COMPLETED"),
    *((state, end) for state in STATES[:4] for end in ("FAILED", "CANCELLED")),
}
PATH_TO = {
    "ASSIGNED": ["ASSIGNED"],
    "WORKING": ["ASSIGNED", "WORKING"],
    "IN_REVIEW": ["ASSIGNED", "WORKING", "IN_REVIEW"],
    "APPROVED": ["ASSIGNED", "WORKING", "IN_REVIEW", "APPROVED"],
    "COMPLETED": ["ASSIGNED", "WORKING", "IN_REVIEW", "APPROVED", "COMPLETED"],
    "FAILED": ["ASSIGNED", "FAILED"],
    "CANCELLED": ["ASSIGNED", "CANCELLED"],
}


def alive(session: Session, agent: str) -> dict[str, Any]:
    """The answer of liveness about one agent; empty if it says nothing."""
    rows = [row for row in session.call("liveness")["agents"] if row["agent_id"] == agent]
    return rows[0] if len(rows) == 1 else {}


def walk(session: Session, worker: str, state: str) -> None:
    """Bring a worker into a state."""
    before = None
    for after in PATH_TO[state]:
        session.call("transition", worker=worker, from_state=before, to_state=after)
        before = after


@scenario("presence.not_a_message")
def not_a_message(ctx: Ctx) -> None:
    """Heartbeats are no messages: nobody has to read them."""
    a = ctx.agent("a")
    a.call("heartbeat", status="idle")
    heard = poll(ctx.agent("b"))
    ctx.expect("worker.presence.09", heard == [], f"a heartbeat was delivered as {heard}")


@scenario("presence.comes_back", needs=("clock",))
def comes_back(ctx: Ctx) -> None:
    """A dead agent that sends a heartbeat is alive."""
    a, b = ctx.agent("a"), ctx.agent("b")
    a.call("heartbeat", status="working")
    ctx.advance(400_000)
    a.call("heartbeat", status="idle")
    row = alive(b, "a")
    ctx.expect("worker.presence.10", row.get("state") == "ALIVE", f"after a new heartbeat liveness says {row}")


@scenario("presence.transition_publishes", needs=("states",))
def transition_publishes(ctx: Ctx) -> None:
    """Each transition is a state_change message with from and to."""
    a, b = ctx.agent("a"), ctx.agent("b")
    walk(a, "worker-auth", "IN_REVIEW")
    changes = [row["payload"] for row in poll(b) if row["type"] == "state_change"]
    steps = [(payload.get("from"), payload.get("to")) for payload in changes]
    wanted = [(None, "ASSIGNED"), ("ASSIGNED", "WORKING"), ("WORKING", "IN_REVIEW")]
    ctx.expect("worker.presence.11", steps == wanted, f"three transitions published {changes}")


@scenario("presence.allowed_transitions", needs=("states",))
def allowed_transitions(ctx: Ctx) -> None:
    """Every transition of the table is possible."""
    a = ctx.agent("a")
    refused: dict[bool, list[str]] = {True: [], False: []}
    for number, (before, after) in enumerate(sorted(ALLOWED, key=str)):
        worker = f"w{number}"
        if before is not None:
            walk(a, worker, before)
        error = a.refusal("transition", worker=worker, from_state=before, to_state=after)
        state = a.call("worker_state", worker=worker)["state"]
        if error is not None or state != after:
            refused[after in ("FAILED", "CANCELLED")].append(f"{before}→{after}: {said(error)}, state {state}")
    ctx.expect("worker.presence.12", not refused[False], f"refused: {refused[False]}")
    ctx.expect("worker.presence.13", not refused[True], f"refused: {refused[True]}")


@scenario("presence.forbidden_transitions", needs=("states",))
def forbidden_transitions(ctx: Ctx) -> None:
    """Every transition outside the table is refused, changes nothing and publishes nothing."""
    a = ctx.agent("a")
    taken = []
    for before in [None, *STATES]:
        worker = f"w-{before}"
        if before is not None:
            walk(a, worker, before)
        for after in STATES:
            if (before, after) in ALLOWED or before == after:
                continue
            error = a.refusal("transition", worker=worker, from_state=before, to_state=after)
            state = a.call("worker_state", worker=worker)["state"]
            if not definite(error) or state != before:
                taken.append(f"{before}→{after}: {said(error)}, state {state}")
    odd = a.refusal("transition", worker="w", from_state=None, to_state="DONE")
    published = sum(row["type"] == "state_change" for row in poll(ctx.agent("b"), limit=1000))
    walked = sum(len(path) for path in PATH_TO.values())
    good = not taken and definite(odd) and published == walked
    why = f"accepted: {taken}; an unknown state: {said(odd)}; {published} state_change messages, wanted {walked}"
    ctx.expect("worker.presence.14", good, why)
