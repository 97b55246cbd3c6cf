"""The plan for `timeline`: four agents that ask, answer, work and fork, on one timeline and its branches."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from busproof.bus.base import DoorError, Refused
from busproof.bus.session import Session
from busproof.contract.history import Recorder, read
from busproof.play.workload.common import PHASES, Plan, Step, Workload, quiet, record_state

AGENTS = ("ann", "bob", "cat", "dan")
SERVICES = ("infer", "kv")


def draw(seed: int, calls: int, nouns: set[str]) -> Plan:
    """The whole plan, a pure function of its arguments."""
    rng = random.Random(seed)
    per_agent = max(1, calls // (PHASES * len(AGENTS) * 2))
    kinds = ["send"] * 6 + ["again"] * 2 + ["other"] + ["work"] * 5 + ["delegate"] * 2
    kinds += ["fork"] * ("fork" in nouns)
    sent: list[dict[str, Any]] = []
    timelines = ["main"]
    return [
        [
            [_step(rng, rng.choice(kinds), f"{phase}-{agent}-{n}", agent, sent, timelines) for n in range(per_agent)]
            for agent in AGENTS
        ]
        for phase in range(PHASES)
    ]


def _step(
    rng: random.Random, kind: str, name: str, agent: str, sent: list[dict[str, Any]], timelines: list[str]
) -> Step:
    if kind in ("again", "other") and not sent:
        kind = "send"
    match kind:
        case "work":
            return Step("work", {"filter": {"type": "request", "service": rng.choice(SERVICES)}})
        case "fork":
            parent = rng.choice(timelines)
            timelines.append(f"branch-{name}")
            begun = {"timeline": timelines[-1], "submission": "s", "agent_name": agent, "parent": parent}
            return Step("fork", {**begun, "at": rng.choice([0, 1, 2])})
        case "again":
            return Step("send", rng.choice(sent))
        case "other":
            return Step("send", rng.choice(sent) | {"payload": "other content"})
    key: dict[str, Any] = {"timeline": rng.choice(timelines), "submission": name}
    if kind == "delegate":
        key |= {"type": "delegate", "caller": agent, "target": rng.choice(AGENTS)}
        params: dict[str, Any] = {"key": key, "nonce": f"n{rng.randint(1, 2)}", "payload": name}
    else:
        key |= {"type": "request", "agent": agent, "service": rng.choice(SERVICES), "backend": "local"}
        params = {
            "key": key | {"operation": "do", "sequence": rng.randint(0, 3)},
            "payload": name + "x" * rng.choice([1, 999]),
        }
    sent.append(params)
    return Step("send", params)


def play_step(session: Session, step: Step, rng: random.Random) -> None:
    """One step of the plan; `work` fetches, answers and acknowledges, as far as the worker lives."""
    if step.op != "work":
        session.call(step.op, **step.params)
        return
    message = session.call("fetch", **step.params)["message"]
    if message is not None:
        session.call("reply", key=message["key"], payload={"to": message["number"]})
        if rng.random() < 0.9:
            session.call("ack", delivery=message["delivery"])


def finish(first: Session, sessions: list[Session], recorder: Recorder, store: Path, nouns: set[str]) -> None:
    """The input of the checks at the end: the final state or, of a bus that tells none, what each timeline shows."""
    if "dump" in nouns:
        quiet(first, "dump")
        return
    sent = [event.value for event in read(recorder.path) if event.type == "invoke" and event.op in ("send", "fork")]
    timelines = dict.fromkeys(params.get("key", params)["timeline"] for params in sent)
    try:
        messages = [row for name in timelines for row in _log(first, name)]
    except DoorError:
        return  # no final state: the checks that need it are unknown
    record_state(recorder, len(sessions), {"messages": messages})


def _log(session: Session, timeline: str) -> list[dict[str, Any]]:
    """The timeline's own messages; those of its parent, which it shows before them, are the parent's."""
    rows: list[dict[str, Any]] = []
    try:
        while page := session.door.call("log", {"timeline": timeline, "after": rows[-1]["number"] if rows else 0})[
            "messages"
        ]:
            rows += page
    except Refused as refusal:
        if refusal.code != "NOT_FOUND":
            raise
    return [row for row in rows if row["key"]["timeline"] == timeline]


WORKLOAD = Workload(AGENTS, draw, play_step, finish)
