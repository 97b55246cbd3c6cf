"""The plan for `topics`: six sessions on two topics, all of them senders and readers, in each one's own way."""

from __future__ import annotations

import itertools
import random
from pathlib import Path
from typing import Any

from busproof.bus.base import DoorError, Refused
from busproof.bus.session import Session
from busproof.contract.history import Recorder
from busproof.play.workload.common import PHASES, Plan, Step, Workload, record_state

AGENTS = ("ann", "ben", "cas", "dee", "eve", "fay")
TOPICS = ("north", "south")
# These acknowledge the messages they have handled; the others let the cursor advance.
CAREFUL = ("ben", "eve")


def draw(seed: int, calls: int, nouns: set[str]) -> Plan:
    """The whole plan, a pure function of its arguments; the first step of each session is to join."""
    rng = random.Random(seed)
    per_session = max(2, calls // (PHASES * len(AGENTS)))
    numbers = itertools.count()
    plan = [[[_step(rng, numbers) for _ in range(per_session)] for _ in AGENTS] for _ in range(PHASES)]
    for steps in plan[0]:
        steps.insert(0, Step("join", {}))
    return plan


def _step(rng: random.Random, numbers: itertools.count[int]) -> Step:
    items = [
        {"content_markdown": f"m{number}" + "x" * rng.choice([1, 40, 900]), "client_message_id": f"m{number}"}
        for number in itertools.islice(numbers, rng.choice([0, 0, 1, 1, 1, 2, 5]))
    ]
    again = bool(items) and rng.random() < 0.1
    wait = 1 if rng.random() < 0.02 else 0
    return Step(
        "sync",
        {
            "topic": rng.choice(TOPICS),
            "outbox": items,
            "again": again,
            "wait_seconds": wait,
            "max_items": rng.choice([1, 3, 20]),
        },
    )


def play_step(session: Session, step: Step, rng: random.Random) -> None:
    """A sync, at times twice with the same outbox, as after a lost reply."""
    if step.op == "join":
        for name in TOPICS:
            _join(session, name)
        return
    params = dict(step.params)
    again, name = params.pop("again"), params.pop("topic")
    try:
        topic_id = session.call("topic_resolve", name=name)["topic_id"]
        for _ in range(1 + again):
            _sync(session, topic_id, params)
    except Refused as refusal:
        if refusal.code not in ("TOPIC_NOT_FOUND", "AGENT_NOT_JOINED"):
            raise
        # The first step was refused, by a busy file say, or the name went to two topics. Other rows judge that;
        # a session that gave up here would leave a history that says nothing.
        _join(session, name)


def _join(session: Session, name: str) -> None:
    topic_id = session.call("topic_create", name=name)["topic_id"]
    session.call("topic_join", topic_id=topic_id, agent_name=session.agent)


def _sync(session: Session, topic_id: str, params: dict[str, Any]) -> None:
    if session.agent not in CAREFUL:
        session.call("sync", topic_id=topic_id, **params)
        return
    reply = session.call("sync", topic_id=topic_id, auto_advance=False, **params)
    if reply["received"]:
        done = reply["received"][-1]["seq"]
        session.call("sync", topic_id=topic_id, auto_advance=False, ack_through=done, max_items=1, wait_seconds=0)


def finish(first: Session, sessions: list[Session], recorder: Recorder, store: Path, nouns: set[str]) -> None:
    """An auditor reads all topics from their beginning: that is the final state, of any server."""
    messages = []
    try:
        for topic in first.door.call("topic_list", {})["topics"]:
            first.door.call("topic_join", {"topic_id": topic["topic_id"], "agent_name": "auditor"})
            has_more = True
            while has_more:
                reply = first.door.call(
                    "sync", {"topic_id": topic["topic_id"], "include_self": True, "wait_seconds": 0}
                )
                messages += reply["received"]
                has_more = bool(reply["received"])
    except DoorError:
        return  # no dump: the checks that need it are unknown
    kept = (
        "topic_id",
        "seq",
        "message_id",
        "sender",
        "message_type",
        "reply_to",
        "content_markdown",
        "client_message_id",
    )
    state = {"messages": [{key: message[key] for key in kept} for message in messages]}
    record_state(recorder, len(sessions), state)


WORKLOAD = Workload(AGENTS, draw, play_step, finish)
