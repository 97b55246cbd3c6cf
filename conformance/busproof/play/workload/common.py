"""The base of all systems' workloads: a plan of phases, and threads that play it."""

from __future__ import annotations

import contextlib
import random
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from busproof.bus.base import DoorError, Lost, Refused
from busproof.bus.fleet import Fleet
from busproof.bus.scratch import scratch
from busproof.bus.session import Session
from busproof.contract.common import T0_MS
from busproof.contract.history import Recorder

PHASES = 4
# Between phases some leases run out and some do not.
PHASE_MS = (20_000, 45_000, 70_000)


@dataclass(frozen=True)
class Step:
    """One call of one agent, or a small routine such as `read`."""

    op: str
    params: dict[str, Any]


Plan = list[list[list[Step]]]  # phase → session → steps


@dataclass(frozen=True)
class Workload:
    """The parts that a system plays: the agents' names, one for each session; the plan; a step; and the last look.

    `join`: each session's first call, before anybody sends; a bus may know its readers only from then on.
    """

    agents: tuple[str, ...]
    draw: Callable[[int, int, set[str]], Plan]
    play_step: Callable[[Session, Step, random.Random], None]
    finish: Callable[[Session, list[Session], Recorder, Path, set[str]], None]
    join: Callable[[Session], None] = lambda _: None


def play(workload: Workload, fleet: Fleet, *, seed: int, calls: int, into: Path) -> Path:
    """Draw, play, record; ends with a last look at everything. Returns the history file."""
    nouns = {*fleet.hello.nouns, *fleet.hello.features}
    plan = workload.draw(seed, calls, nouns)
    header = {"workload": {"seed": seed, "calls": calls}, "options": {}, "bus": fleet.hello.model_dump()}
    recorder = Recorder(into, run=f"workload-{seed}", system=fleet.system, header=header)
    with scratch() as folder, contextlib.closing(recorder):
        store = folder / "store"
        store.mkdir()
        _play(workload, fleet, plan, seed, store, recorder)
    return into


def _play(workload: Workload, fleet: Fleet, plan: Plan, seed: int, store: Path, recorder: Recorder) -> None:
    sessions: list[Session] = []
    try:
        for number, agent in enumerate(workload.agents):
            sessions.append(Session(fleet.door(number, store, {}), recorder, process=number, agent=agent))
        now_ms = T0_MS
        for session in sessions:
            if fleet.hello.clock == "manual":
                session.set_clock(now_ms)
            workload.join(session)
        for phase, parts in enumerate(plan):
            fleet.goes_on()
            if fleet.hello.clock == "manual":
                for session in sessions:
                    session.set_clock(now_ms)
            _together(workload, sessions, parts, seed * PHASES + phase)
            now_ms += PHASE_MS[phase % len(PHASE_MS)]
        workload.finish(sessions[0], sessions, recorder, store, {*fleet.hello.nouns, *fleet.hello.features})
    finally:
        for session in sessions:
            fleet.give_back(session.door, retired=session.retired)


def _together(workload: Workload, sessions: list[Session], parts: list[list[Step]], seed: int) -> None:
    gate = threading.Barrier(len(sessions))

    def run(session: Session, steps: list[Step]) -> None:
        rng = random.Random(seed * 1000 + session.process)
        gate.wait()
        for step in steps:
            if session.retired:
                return
            try:
                workload.play_step(session, step, rng)
            except (Lost, Refused):
                continue  # recorded; the checks judge

    threads = [threading.Thread(target=run, args=pair) for pair in zip(sessions, parts, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def record_state(recorder: Recorder, process: int, state: dict[str, Any]) -> None:
    """Record what an auditor found in the end as the final state."""
    recorder.record("invoke", process=process, op="dump", agent="auditor", value={})
    recorder.record("ok", process=process, op="dump", agent="auditor", value=state)


def quiet(session: Session, method: str, **params: Any) -> None:
    """A call whose refusal is for the history to tell."""
    try:
        session.call(method, **params)
    except DoorError:
        return  # recorded as fail or info
