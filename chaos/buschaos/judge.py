"""From a history and a store to problems: one last reading by a process that was never disturbed, then the checks."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from buschaos import reading
from buschaos.inspector import Inspector
from buschaos.state import Evidence, Problem
from buschaos.subjects import SUBJECTS
from busproof.bus.base import Refused
from busproof.bus.fleet import Fleet
from busproof.bus.session import Session
from busproof.contract import HelloReply
from busproof.contract.catalogue import Requirement, catalogue
from busproof.contract.common import T0_MS
from busproof.contract.history import Broken, Event, Recorder, merge, read, scan
from busproof.systems import run_checks


@dataclass(frozen=True)
class Judgement:
    """The findings of a run."""

    problems: list[Problem]
    undecided: list[str]  # the questions that could not be decided, and why
    idle: list[str]  # the checks that had nothing to judge

    def decides(self, check: str) -> bool:
        """Did this check say valid or invalid?"""
        return check not in self.idle and not any(why.startswith(f"{check}: ") for why in self.undecided)


def read_to_the_end(
    fleet: Fleet, store: Path, parts: list[Path], into: Path, *, run: str, agents: list[str], now_ms: int = T0_MS
) -> Evidence:
    """Fresh sessions read everything that waits for these agents, export, dump; the whole history goes to `into`."""
    events = [event for part in parts for event in read(part)]
    first = 1 + max((event.process for event in events), default=-1)
    last_part = parts[0].with_name("part-last.jsonl")
    subject = SUBJECTS[fleet.system]
    now_ms += subject.settle_ms
    endless: list[Problem] = []
    exports = "export" in fleet.hello.nouns and subject.export is not None
    with (
        Inspector(fleet.system) as inspector,
        contextlib.closing(Recorder(last_part, run=run, system=fleet.system)) as recorder,
        _session(fleet, store, recorder, first, "auditor", now_ms) as auditor,
    ):
        for number, agent in enumerate(agents, first + 1):
            with _session(fleet, store, recorder, number, agent, now_ms) as reader:
                try:
                    subject.read_all(reader, events)
                except reading.Endless as error:
                    endless.append(Problem(error.noun, f"{agent}: {error}"))
                except Refused as error:
                    if error.code in subject.expected:
                        raise
                    endless.append(Problem("log", f"{agent}: nobody can read what waits: {error}"))
        if subject.catch_up:
            auditor.call(subject.catch_up)
        elif exports and subject.export is not None:
            auditor.call(subject.export)
        facts = inspector.look(store)
        if exports:
            record_export(recorder, first, facts)
        dump = None
        if reading.can_dump(fleet.hello):
            dump = reading.dump(auditor, store, fleet, reading.with_ledger(auditor, fleet.hello, subject))
    merge([*parts, last_part], into)
    return Evidence(dump, facts, subject.truth.promises(read(into)), exports, endless)


def record_export(recorder: Recorder, process: int, facts: dict[str, Any]) -> None:
    """Record the content of bus.jsonl as an event that the check `export` reads."""
    if "died" not in facts and "lines" in facts:
        lines = {"lines": [seq for seq, _ in facts["lines"] or []], "torn": bool(facts["bad_lines"])}
        recorder.record("invoke", process=process, op="read_export")
        recorder.record("ok", process=process, op="read_export", value=lines)


@contextlib.contextmanager
def _session(fleet: Fleet, store: Path, recorder: Recorder, number: int, agent: str, now_ms: int) -> Iterator[Session]:
    session = Session(fleet.door(number, store, {}), recorder, process=number, agent=agent)
    try:
        if fleet.hello.clock == "manual":
            session.set_clock(now_ms)
        yield session
    finally:
        fleet.give_back(session.door, retired=session.retired)


def of_history(history: Path) -> Judgement:
    """The findings of the kit's own checks on a file."""
    return of_events(list(scan(history)))


def of_events(events: Sequence[Event | Broken]) -> Judgement:
    """Their findings on a history: a witness is a problem of the noun whose rows its check decides."""
    problems: list[Problem] = []
    undecided: list[str] = []
    idle: list[str] = []
    system = next(event.system for event in events if isinstance(event, Event))
    rows = catalogue(system).values()
    nouns = {row.check: row.noun for row in rows if row.check}
    for verdict in run_checks(events):
        noun = nouns.get(f"history.{verdict.check}", "log")  # there is no row about the file itself
        problems += [Problem(noun, f"{verdict.check}: {w.why}", w.events) for w in verdict.witnesses]
        if not verdict.counted:
            idle.append(verdict.check)
        elif verdict.verdict == "unknown":
            undecided.append(f"{verdict.check}: {verdict.reason}")
    return Judgement(problems, undecided, idle)


def is_asked(check: str, hello: HelloReply, system: str) -> bool:
    """Does a bus that says this of itself have a row that the check decides? Or the act, for an act is a check, too."""
    return any(is_declared(row, hello) for row in catalogue(system).values() if row.check == check)


def is_declared(row: Requirement, hello: HelloReply) -> bool:
    """Does the bus say that it has all that the row needs?"""
    clock = ["clock"] if hello.clock == "manual" else []
    return {row.noun, *row.needs} <= {*hello.nouns, *hello.features, *clock}
