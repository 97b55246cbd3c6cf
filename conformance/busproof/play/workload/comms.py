"""The plan for `comms`: twenty sessions of sixteen agents; four of them have two processes, which race."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from busproof.bus.session import Session
from busproof.contract.history import Recorder
from busproof.play.workload.common import PHASES, Plan, Step, Workload, quiet

NAMES = tuple(f"agent-{number:02}" for number in range(16))
AGENTS = NAMES + NAMES[:4]
CHANNELS = ("general", "general", "urgent", "reviews")
TTL_S = 3600  # told, because without it the bus chooses how long a message lives (C13)
ERROR_SHARE, ABANDON_SHARE = 0.25, 0.05


def draw(seed: int, calls: int, nouns: set[str]) -> Plan:
    """The whole plan, a pure function of its arguments. A `work` step is some four calls."""
    rng = random.Random(seed)
    per_session = max(2, calls // (PHASES * len(AGENTS) * 2))
    kinds = ["send"] * 5 + ["work"] * 5 + ["heartbeat"] * ("presence" in nouns)
    plan = [[[_step(rng, rng.choice(kinds)) for _ in range(per_session)] for _ in AGENTS] for _ in range(PHASES)]
    return _with_doomed(plan)


def _with_doomed(plan: Plan) -> Plan:
    """Messages that fail whenever they are claimed, sent as the first phase ends; three looks are three failures."""
    first, *others = plan
    for session, steps in enumerate(first):
        fields = {"message_type": "doomed", "payload": {}, "channel": "general", "priority": 10, "ttl_seconds": TTL_S}
        steps.append(Step("send_message", {**fields, "to_agent": NAMES[session % len(NAMES)]}))
    for phase in others:
        for steps in phase:
            steps.insert(0, Step("work", {"limit": 20, "channels": sorted(set(CHANNELS))}))
    return plan


def _step(rng: random.Random, kind: str) -> Step:
    if kind == "send":
        params: dict[str, Any] = {
            "message_type": "note",
            "payload": {"fill": "x" * rng.choice([0, 10, 200, 3000])},
            "channel": rng.choice(CHANNELS),
            "priority": rng.randint(1, 10),
            "ttl_seconds": TTL_S,
        }
        if rng.random() < 0.9:
            # Mostly to agents with two processes: there claims meet.
            params["to_agent"] = rng.choice(NAMES[:4] if rng.random() < 0.6 else NAMES)
        return Step("send_message", params)
    if kind == "work":
        channels = rng.sample(sorted(set(CHANNELS)), rng.choice([2, 3, 3]))
        return Step("work", {"limit": rng.choice([1, 2, 5]), "channels": channels})
    return Step("send_heartbeat", {"status": "active"})


def play_step(session: Session, step: Step, rng: random.Random) -> None:
    """One step of the plan; `work` receives, claims each, and completes it, fails, or forgets it."""
    if step.op != "work":
        session.call(step.op, **step.params)
        return
    messages = session.call("receive_messages", **step.params)["messages"]
    for message in messages:
        claim = session.call("claim_message", message_id=message["id"])
        fate = rng.random() if message["type"] != "doomed" else ABANDON_SHARE
        if not claim["claimed"] or fate < ABANDON_SHARE:
            continue
        params = {"message_id": message["id"]}
        if claim.get("delivery_count") is not None:
            params["delivery_count"] = claim["delivery_count"]
        if fate < ABANDON_SHARE + ERROR_SHARE:
            params["error"] = "it broke"
        session.call("complete_message", **params)


def finish(first: Session, sessions: list[Session], recorder: Recorder, store: Path, nouns: set[str]) -> None:
    """Every agent's last look, and the final state."""
    for session in sessions:
        if not session.retired:
            quiet(session, "receive_messages", channels=sorted(set(CHANNELS)), limit=10_000)
    if "dump" in nouns:
        quiet(first, "dump")


def _join(session: Session) -> None:
    quiet(session, "receive_messages", channels=sorted(set(CHANNELS)), limit=1)


WORKLOAD = Workload(AGENTS, draw, play_step, finish, _join)
