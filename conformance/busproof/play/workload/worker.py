"""The plan for `worker`: publishers, readers, claimers and exporters among four agents, and a witness.

The witness reads and never acknowledges. At the end everyone reads to the end: that shows what is there, of any bus.
"""

from __future__ import annotations

import contextlib
import json
import random
from pathlib import Path
from typing import Any

from busproof.bus.base import DoorError
from busproof.bus.session import Session
from busproof.contract.history import Recorder
from busproof.play.workload.common import PHASES, Plan, Step, Workload, quiet

AGENTS = ("ada", "bob", "cy", "dot")
WITNESS = "witness"
TASKS = ("build", "review", "deploy")
ALL = 10_000
PAGE = 100
RUSH = 4  # publishes and exports of each agent at the start of a phase


def draw(seed: int, calls: int, nouns: set[str]) -> Plan:
    """The whole plan, a pure function of its arguments."""
    rng = random.Random(seed)
    per_agent = max(1, calls // (PHASES * len(AGENTS)))
    names = "idempotent_publish" in nouns  # else the bus names its messages, and a retry is another one
    kinds = ["publish"] * 6 + ["retry"] * names + ["read"] * 4
    kinds += (["claim"] * 3 + ["renew", "release"]) * ("lease" in nouns)
    kinds += ["export"] * ("export" in nouns) + ["publish_many"] * ("publish_many" in nouns)
    sent: list[dict[str, Any]] = []
    # Else nobody promises that a message to all, or one's own, is delivered.
    has_route = {"route", "broadcast", "self_delivery"} <= nouns
    plan: Plan = []
    for phase in range(PHASES):
        plan.append(
            [
                *(
                    _rush(rng, f"{phase}-{agent}", sent, "export" in nouns, has_route)
                    + [_step(rng, rng.choice(kinds), f"{phase}-{agent}-{n}", sent, has_route) for n in range(per_agent)]
                    for agent in AGENTS
                ),
                [Step("read", {"limit": ALL, "share": 0.0})],
            ]
        )
    return plan if names else [[[_unnamed(step) for step in steps] for steps in phase] for phase in plan]


def _unnamed(step: Step) -> Step:
    """The same publish, without the ids."""
    params = dict(step.params)
    if "message" in params:
        params["message"] = {name: value for name, value in params["message"].items() if name != "id"}
    if "messages" in params:
        params["messages"] = [
            {name: value for name, value in message.items() if name != "id"} for message in params["messages"]
        ]
    return Step(step.op, params)


def _rush(rng: random.Random, name: str, sent: list[dict[str, Any]], exports: bool, has_route: bool) -> list[Step]:
    """Every phase begins with all agents at the same work: exporters must meet to get in each other's way."""
    if not exports:
        return []
    return [
        step
        for turn in range(RUSH)
        for step in (_step(rng, "publish", f"{name}-rush{turn}", sent, has_route), Step("export_to_jsonl", {}))
    ]


def _step(rng: random.Random, kind: str, name: str, sent: list[dict[str, Any]], has_route: bool) -> Step:
    if kind == "retry" and not sent:
        kind = "publish"
    if kind == "publish":
        message = _message(rng, name, has_route)
        sent.append(message)
        return Step("publish", {"message": message, "agent_id": "ada"})
    if kind == "retry":
        # By the same agent name: a retry is the same message to the letter.
        return Step("publish", {"message": rng.choice(sent), "agent_id": "ada"})
    if kind == "publish_many":
        messages = [_message(rng, f"{name}-{n}", has_route) for n in range(rng.randint(1, 5))]
        return Step("publish_many", {"messages": messages} | ({} if has_route else {"agent_id": "ada"}))
    if kind == "read":
        return Step("read", {"limit": rng.choice([1, 3, 10, 100]), "share": rng.random()})
    if kind == "export":
        return Step("export_to_jsonl", {})
    op = {"claim": "try_claim_task", "renew": "renew_claim", "release": "release_claim"}[kind]
    return Step(op, {"task_id": rng.choice(TASKS)})


def _message(rng: random.Random, name: str, has_route: bool) -> dict[str, Any]:
    size = rng.choice([0, 0, 10, 200, 5000])
    message: dict[str, Any] = {
        "id": name,
        "type": rng.choice(["note", "task_done"]),
        "payload": {"of": name, "fill": "x" * size},
    }
    if rng.random() < 0.6:
        message["to"] = rng.choice(AGENTS)
    if not has_route and message.get("to", "ada") == "ada":  # the sender
        message["to"] = rng.choice(AGENTS[1:])
    return message


def play_step(session: Session, step: Step, rng: random.Random) -> None:
    """One step of the plan; `read` polls and acknowledges the messages that it got."""
    if step.op != "read":
        session.call(step.op, **step.params)
        return
    messages = session.call("poll", limit=step.params["limit"])["messages"]
    done = int(len(messages) * step.params["share"] + 0.5)
    if done:
        session.call("ack", seq=messages[done - 1]["seq"])
        if step.params["share"] > 0.8:
            session.call("ack", seq=messages[0]["seq"])  # a late ack, backwards


def finish(first: Session, sessions: list[Session], recorder: Recorder, store: Path, nouns: set[str]) -> None:
    """The input of the checks at the end: every reader's view, the export, the final state."""
    for session in sessions:
        if not session.retired:
            with contextlib.suppress(DoorError):  # recorded as fail or info
                _read_to_the_end(session, acknowledges="cursor" in nouns and session.agent != WITNESS)
    if "export" in nouns:
        quiet(first, "export_to_jsonl")
        record_export(recorder, store, process=-2)
    if "dump" in nouns:
        quiet(first, "dump")


def _read_to_the_end(session: Session, *, acknowledges: bool) -> None:
    """One look at all that is left; then page by page, until there is nothing more."""
    session.call("poll", limit=ALL)
    last = 0
    while acknowledges and (messages := session.call("poll", limit=PAGE)["messages"]) and messages[-1]["seq"] > last:
        last = messages[-1]["seq"]
        session.call("ack", seq=last)


def record_export(recorder: Recorder, store: Path, *, process: int) -> None:
    """Record the content of bus.jsonl: the seq of each whole line, and whether anything else is in it."""
    path = store / "bus.jsonl"
    data = path.read_bytes() if path.exists() else b""
    seqs, torn = [], bool(data) and not data.endswith(b"\n")
    for line in data.split(b"\n"):
        if not line:
            continue
        try:
            seqs.append(int(json.loads(line)["seq"]))
        except (ValueError, KeyError, TypeError):
            torn = True
    recorder.record("invoke", process=process, op="read_export")
    recorder.record("ok", process=process, op="read_export", value={"lines": seqs, "torn": torn})


def _join(session: Session) -> None:
    quiet(session, "poll", limit=1)


WORKLOAD = Workload((*AGENTS, WITNESS), draw, play_step, finish, _join)
