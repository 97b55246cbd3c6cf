"""presence: which agents are alive, what they do, and in which state their work is."""

from __future__ import annotations

import json
import shutil
from typing import Any

from busproof.bus.base import DoorError
from busproof.bus.session import Session
from busproof.play.scenarios.worker.common import definite, poll, publish, raced, said, scenario
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
    found = [row for row in session.call("liveness")["agents"] if row["agent_id"] == agent]
    return found[0] if len(found) == 1 else {}


def walk(session: Session, worker: str, state: str) -> None:
    """Bring a worker into a state."""
    before = None
    for after in PATH_TO[state]:
        session.call("transition", worker=worker, from_state=before, to_state=after)
        before = after


@scenario("presence.one_row_an_agent")
def one_row_an_agent(ctx: Ctx) -> None:
    """A heartbeat replaces the agent's last one, with its task and progress."""
    a, b = ctx.agent("a"), ctx.agent("b")
    a.call("heartbeat", status="idle")
    a.call("heartbeat", status="working", current_task="skills-abc", progress=0.25)
    b.call("heartbeat", status="blocked")
    agents = a.call("liveness")["agents"]
    names = sorted(row["agent_id"] for row in agents)
    mine = alive(b, "a")
    good = names == ["a", "b"] and mine.get("status") in ("working", None)
    ctx.expect("worker.presence.01", good, f"after two heartbeats of a and one of b liveness lists {agents}")
    told = mine.get("current_task"), mine.get("progress")
    ctx.expect("worker.presence.03", told == ("skills-abc", 0.25), f"current_task and progress came back as {told}")


@scenario("presence.statuses")
def statuses(ctx: Ctx) -> None:
    """idle, working and blocked are statuses; nothing else is."""
    a = ctx.agent("a")
    taken = [status for status in ("idle", "working", "blocked") if a.refusal("heartbeat", status=status) is None]
    told = alive(a, "a").get("status")
    good = len(taken) == 3 and told in ("blocked", None)
    ctx.expect("worker.presence.02", good, f"accepted: {taken}; told: {told}")
    odd = {repr(s): said(r) for s in ("dead", "", None) if not definite(r := a.refusal("heartbeat", status=s))}
    ctx.expect("worker.presence.24", not odd, f"other statuses: {odd}")


@scenario("presence.thresholds", needs=("clock",))
def thresholds(ctx: Ctx) -> None:
    """ALIVE under 30 s, WARN from 30 s, STALE from 100 s, DEAD from 300 s."""
    a, b = ctx.agent("a"), ctx.agent("b")
    a.call("heartbeat", status="idle")
    at_ms, seen, ages = ctx.now_ms, {}, {}
    for age_ms in (0, 29_999, 30_000, 99_999, 100_000, 299_999, 300_000, 10**9):
        ctx.advance(at_ms + age_ms - ctx.now_ms)
        row = alive(b, "a")
        seen[age_ms] = row.get("state")
        ages[age_ms] = row.get("age_ms")
    edges = {
        "worker.presence.07": {0: "ALIVE", 29_999: "ALIVE"},
        "worker.presence.04": {29_999: "ALIVE", 30_000: "WARN", 99_999: "WARN"},
        "worker.presence.05": {99_999: "WARN", 100_000: "STALE", 299_999: "STALE"},
        "worker.presence.06": {299_999: "STALE", 300_000: "DEAD", 10**9: "DEAD"},
    }
    for requirement, wanted in edges.items():
        got = {age_ms: seen[age_ms] for age_ms in wanted}
        ctx.expect(requirement, got == wanted, f"state by age in ms: {got}, wanted {wanted}")
    exact = all(age_ms == told for age_ms, told in ages.items())
    ctx.expect("worker.presence.08", exact, f"age_ms told by true age in ms: {ages}")


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


@scenario("presence.compare_and_set", needs=("states",))
def compare_and_set(ctx: Ctx) -> None:
    """One of two transitions from the same state wins, every time; a repeat of a transition is quiet."""
    a, b = ctx.agent("a"), ctx.agent("b")
    bad = [why for worker in ("w", "v", "u") if (why := _unfair(ctx, a, b, worker))]
    ctx.expect("worker.presence.15", not bad, "; ".join(bad))
    state = a.call("worker_state", worker="w")["state"]
    before = len(poll(ctx.agent("reader"), limit=1000))
    repeat = a.call("transition", worker="w", from_state="IN_REVIEW", to_state=state)
    after = len(poll(ctx.agent("reader"), limit=1000))
    quiet = repeat["state"] == state and repeat.get("changed") in (False, None) and before == after
    ctx.expect("worker.presence.16", quiet, f"the repeat was answered {repeat} and published {after - before} messages")


def _unfair(ctx: Ctx, a: Session, b: Session, worker: str) -> str:
    """Make two transitions from IN_REVIEW at once; return the fault in how they ended, if any."""
    walk(a, worker, "IN_REVIEW")
    results = raced(
        ctx,
        lambda: a.call("transition", worker=worker, from_state="IN_REVIEW", to_state="APPROVED"),
        lambda: b.call("transition", worker=worker, from_state="IN_REVIEW", to_state="WORKING"),
    )
    won = [isinstance(result, dict) for result in results]
    refused = [getattr(error, "code", None) for error in results if isinstance(error, DoorError)]
    state = a.call("worker_state", worker=worker)["state"]
    loser = "WORKING" if state == "APPROVED" else "APPROVED"
    late = b.refusal("transition", worker=worker, from_state="IN_REVIEW", to_state=loser)
    if won.count(True) == 1 and refused == ["STATE_CONFLICT"] and definite(late, "STATE_CONFLICT"):
        return ""
    told = [str(result) for result in results]
    return f"two transitions of {worker} from IN_REVIEW at once: {told}; the loser again: {said(late)}"


@scenario("presence.worker_file", needs=("states", "sqlite"))
def worker_file(ctx: Ctx) -> None:
    """workers/NAME.json tells the worker's state and is no message."""
    a = ctx.agent("a")
    walk(a, "worker-auth", "WORKING")
    path = ctx.store / "workers" / "worker-auth.json"
    text = path.read_text() if path.is_file() else ""
    try:
        told = json.loads(text)
    except ValueError:
        told = None
    good = isinstance(told, dict) and "WORKING" in told.values()
    shutil.rmtree(path.parent, ignore_errors=True)  # somebody tidied up; the database alone decides
    looked = a.refusal("worker_state", worker="worker-auth")
    moved = a.refusal("transition", worker="worker-auth", from_state="WORKING", to_state="IN_REVIEW")
    why = f"workers/worker-auth.json of a WORKING worker holds {text!r}; without the folder a look at it:"
    good = good and looked is None and moved is None
    ctx.expect("worker.presence.17", good, f"{why} {said(looked)}; a transition: {said(moved)}")


@scenario("presence.status", needs=("status",))
def status(ctx: Ctx) -> None:
    """The status query gives the newest heartbeat and state_change messages first, with their time."""
    a = ctx.agent("a")
    for number in range(3):
        publish(a, type="state_change", payload={"n": number})
        publish(a, type="task_done")
    publish(a, type="heartbeat", payload={"n": 3})
    rows = a.call("status", limit=3)["rows"]
    kinds = [(row.get("type"), (row.get("payload") or {}).get("n")) for row in rows]
    wanted = [("heartbeat", 3), ("state_change", 2), ("state_change", 1)]
    senders = all(row.get("from_agent") == "a" for row in rows)
    ctx.expect("worker.presence.18", kinds == wanted and senders, f"the newest three are {rows}, wanted {wanted}")
    timed = bool(rows) and all(isinstance(row.get("ts_ms"), int) for row in rows)
    ctx.expect("worker.presence.19", timed, f"rows without ts_ms: {rows}")
