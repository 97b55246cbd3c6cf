"""The toy, bound to its checks. Importing this registers it, in the kit and in chaos."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from buschaos.subjects import SUBJECTS
from busproof.checks.calls import Calls, Completeness
from busproof.checks.verdict import Verdict, Witness, judged
from busproof.history import Event, Recorder
from busproof.session import Session
from busproof.suite import SCENARIOS, Ctx, scenario
from busproof.systems import System, register
from busproof.workload.common import PHASES, Plan, Step, Workload
from toy.contract import CONTRACT
from toy.subject import SUBJECT

AGENTS = ("ann", "ben", "cas")


@partial(scenario, system="toy")("log.read_by_all")
def read_by_all(ctx: Ctx) -> None:
    """A note that was acknowledged is read by every agent."""
    writer, reader = ctx.agent("writer"), ctx.agent("reader")
    writer.call("note", id="n1", text="hello")
    read = [note["id"] for note in reader.call("notes")["notes"]]
    ctx.expect("toy.log.01", read == ["n1"], f"n1 was written, {read} was read")


def draw(seed: int, calls: int, nouns: set[str]) -> Plan:
    """Notes by all agents side by side."""
    each = range(max(1, calls // (PHASES * len(AGENTS))))
    return [[[Step("note", {"id": f"{p}.{a}.{n}", "text": "t"}) for n in each] for a in AGENTS] for p in range(PHASES)]


def play_step(session: Session, step: Step, rng: random.Random) -> None:
    """One note."""
    session.call(step.op, **step.params)


def finish(first: Session, sessions: list[Session], recorder: Recorder, store: Path, nouns: set[str]) -> None:
    """The final state."""
    first.call("dump")


@dataclass
class Facts(Completeness):
    """Who was told that a note is stored, and what is there in the end."""

    promised: dict[str, int] = field(default_factory=dict)  # id → the event of the answer
    there: list[str] = field(default_factory=list)


def extract(events: Iterable[Event]) -> Facts:
    """From a history."""
    facts, calls = Facts(), Calls(events)
    for call in calls:
        if call.outcome == "ok" and call.begun.op == "note":
            facts.promised[str(call.begun.key)] = call.end
        elif call.outcome == "ok" and call.begun.op == "dump":
            facts.there, facts.dump_at = [row["id"] for row in call.reply["messages"]], call.end
    facts.is_whole = calls.is_whole
    return facts


def durable(facts: Facts) -> Verdict:
    """What was acknowledged is there, once."""
    lost = [] if facts.dump_at is None else [at for id_, at in facts.promised.items() if facts.there.count(id_) != 1]
    witnesses = [Witness((at,), "message_lost") for at in lost]
    return judged("durable", witnesses, len(facts.promised), facts.unknown_because or facts.no_dump)


register(
    System(CONTRACT, SCENARIOS["toy"], {}, Workload(AGENTS, draw, play_step, finish), extract, {"durable": durable})
)
SUBJECTS["toy"] = SUBJECT
