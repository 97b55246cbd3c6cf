"""The toy, bound to its checks. Importing this registers it, in the kit and in chaos."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from buschaos.subjects import SUBJECTS
from busproof.bus.session import Session
from busproof.contract.history import Recorder
from busproof.oracle.checks import durable
from busproof.oracle.checks.calls import Call
from busproof.oracle.checks.extract.source import Fact, Source, as_row, first, text
from busproof.oracle.checks.facts import Appended, Stored
from busproof.play.suite import SCENARIOS, Ctx, scenario
from busproof.play.workload.common import PHASES, Plan, Step, Workload
from busproof.systems import System, register
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


def of_call(call: Call) -> Iterator[Fact]:
    """Notes are one lane, known by the ids that their writers chose."""
    if call.op == "note":
        id_ = first(text(call.reply.get("id")), text(call.params.get("id")))
        yield Appended("", call.begin, call.end, call.outcome, None, id_, None, call.agent, None, False, None)


def of_state(table: str, row: Any, place: int) -> Iterator[Fact]:
    """The notes that are there in the end."""
    if table == "messages":
        yield Stored("", None, text(as_row(row).get("id")), None, None, None, False, False)  # type: ignore[arg-type]


register(
    System(
        CONTRACT,
        SCENARIOS["toy"],
        Workload(AGENTS, draw, play_step, finish),
        Source(of_call, of_state, needed={}, numbers={}),
        {"durable": durable.check},
    )
)
SUBJECTS["toy"] = SUBJECT
