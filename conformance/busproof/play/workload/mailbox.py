"""The plan for `mailbox`: four agents that send, receive and ack at their own pace, and at the end receive to the end.

Each agent loops by itself: readers that wait for each other never ack at once. There is no dump: the last receives of
each agent say what is left, and `eve`, a witness, acks nothing before that.
"""

from __future__ import annotations

import contextlib
import random
from pathlib import Path
from typing import Any

from busproof.bus.base import DoorError
from busproof.bus.session import Session
from busproof.contract.history import Recorder
from busproof.play.workload.common import PHASES, Plan, Step, Workload

AGENTS = ("ada", "bob", "cy", "eve")
WITNESS = "eve"
RUSH = 3  # sends of each agent at the start of a phase, before it reads them
NAMES, QUEUES = ("build", "review"), ("urgent", "slow")
HELD_MS = 600_000  # longer than a whole workload
PAGE, PAGES_MAX, ALL = 7, 2_000, 10_000


def draw(seed: int, calls: int, nouns: set[str]) -> Plan:
    """The whole plan, a pure function of its arguments."""
    rng = random.Random(seed)
    per_agent = max(1, calls // (PHASES * len(AGENTS)))
    kinds = ["send"] * 6 + ["receive"] * 3 + ["claim"] * ("lease" in nouns) + ["put", "work"] * ("jobs" in nouns)
    plan: Plan = []
    for phase in range(PHASES):
        parts = []
        for agent in AGENTS:
            rush = [
                _step(rng, agent, kind, f"{phase}-{agent}-rush{n}", nouns)
                for n in range(RUSH)
                for kind in ("send", "receive")
            ]
            drawn = [_step(rng, agent, rng.choice(kinds), f"{phase}-{agent}-{n}", nouns) for n in range(per_agent)]
            parts.append([Step("receive", {"limit": ALL, "share": 0.0}), *rush, *drawn])
        plan.append(parts)
    return plan


def _step(rng: random.Random, agent: str, kind: str, name: str, nouns: set[str]) -> Step:
    if kind == "send":
        others = [other for other in AGENTS if other != agent]  # nobody promises to deliver what is sent to oneself
        size = rng.choice([0, 0, 200, 5000])
        params: dict[str, Any] = {"to": rng.choice(others), "body": f"message {name} {'x' * size}".strip()}
        if "broadcast" in nouns and rng.random() < 0.15:
            del params["to"]
        if "key" in nouns and rng.random() < 0.2:
            params["key"] = name
        return Step("send", params)
    if kind == "receive":
        share = rng.random() if "ack" in nouns and agent != WITNESS else 0.0
        return Step("receive", {"limit": rng.choice([1, 3, 10, ALL]), "share": share})
    if kind == "claim":
        return Step("claim", {"name": rng.choice(NAMES), "renews": "renew" in nouns and rng.random() < 0.3})
    if kind == "put":
        return Step("put", {"queue": rng.choice(QUEUES), "body": f"job {name}"})
    return Step("work", {"queue": rng.choice(QUEUES), "gives_back": "back" in nouns and rng.random() < 0.2})


def play_step(session: Session, step: Step, rng: random.Random) -> None:
    """One step of the plan: a call, or a call with what belongs to it."""
    params = step.params
    if step.op == "receive":
        messages = session.call("receive", limit=params["limit"])["messages"]
        done = [message["id"] for message in messages[: int(len(messages) * params["share"] + 0.5)]]
        if done:
            session.call("ack", ids=done)
    elif step.op == "claim":
        _claim(session, params["name"], renews=params["renews"])
    elif step.op == "work":
        _work(session, params["queue"], gives_back=params["gives_back"])
    else:
        session.call(step.op, **params)
        if "key" in params:
            session.call(step.op, **params)  # again, as if the answer had been lost


def _claim(session: Session, name: str, *, renews: bool) -> None:
    """Hold a name for a moment."""
    reply = session.call("claim", name=name, ttl_ms=HELD_MS)
    if not reply["granted"]:
        return
    if renews:
        session.call("renew", name=name, ttl_ms=HELD_MS)
    session.call("release", name=name)


def _work(session: Session, queue: str, *, gives_back: bool) -> bool:
    """Take a job, and finish it or give it back. False: there was none."""
    job = session.call("take", queue=queue, visible_ms=HELD_MS)["job"]
    if job is not None:
        hold = {"queue": queue, "id": job["id"], "receipt": job.get("receipt") or job["id"]}
        session.call("back" if gives_back else "done", **hold)
    return job is not None


def finish(first: Session, sessions: list[Session], recorder: Recorder, store: Path, nouns: set[str]) -> None:
    """Every agent receives to the end; every queue is emptied."""
    for session in sessions:
        if not session.retired:
            with contextlib.suppress(DoorError):  # recorded; the checks judge
                drain(session, nouns)
    for queue in QUEUES if "jobs" in nouns else ():
        with contextlib.suppress(DoorError):
            for _ in range(PAGES_MAX):
                if first.retired or not _work(first, queue, gives_back=False):
                    break


def drain(session: Session, nouns: set[str]) -> None:
    """The last answers of an agent: page after page where the client holds the position, else until nothing is left."""
    more: dict[str, Any] = {"limit": PAGE if "page" in nouns else ALL}
    for _ in range(PAGES_MAX):
        reply = session.call("receive", **more)
        if not reply["messages"]:
            return
        if "page" in nouns:
            more["after"] = reply["position"]
        elif "consumes" in nouns:
            continue
        elif "ack" in nouns:
            session.call("ack", ids=[message["id"] for message in reply["messages"]])
        else:
            return


WORKLOAD = Workload(AGENTS, draw, play_step, finish)
