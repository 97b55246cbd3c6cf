"""Schedules: drawn programs in which a drawn call stands still at a drawn place, while others do what is drawn.

`holds` plays pairs of operations on a store that is prepared; here nobody chose the pair, the state or the place. The
generator of a system's search draws the program. Now and then a call of it is held at one of its changes or locks, and
one to three others come meanwhile, at a later time perhaps. The model says which answers, and which states afterwards,
some order of all these allows. So calls are judged together that nobody thought of pairing, in states that nobody
thought of preparing.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import random
import shlex
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from buschaos.duet import IDLE_S, STAND_S, Held, or_waits, until
from buschaos.limits import Time
from buschaos.nemeses import bpf
from buschaos.nemeses.syscalls import Change, Continue, Supervision, watched_child
from buschaos.state import Problem
from busproof.bus.base import DoorError
from busproof.bus.fleet import Fleet
from busproof.contract import HelloReply
from busproof.contract.catalogue import catalogue
from busproof.oracle.models.spec import DoesNotApply, Refusal, Undecided
from busproof.play.explore.command import is_broken, tell
from busproof.play.explore.orders import Called, copy_of, parts_of
from busproof.play.explore.recall import Recall
from busproof.play.explore.script import Step, load, save
from busproof.play.explore.search import Program, playing
from busproof.play.explore.shrink import shrink
from busproof.play.explore.stage import Generator, Mismatch, Specification, Stage
from busproof.systems import SYSTEMS
from busproof.words import one_line, reason, say

PROGRAMS = 25  # of a run: some 75 to 140 calls are held
LENGTH = 40
HELD = 0.3  # of the calls
RECALLED = 0.1  # of the steps: between a call of another process that they change, and the same again
OTHERS = (1, 1, 2, 3)
CHOICE = 6  # of so many that one comes which writes, and has most in common with the call that is held
FIRST_GUESS = 12  # places of a call that was not seen yet
ORDERS_MAX = 120  # that may explain one schedule; each is played on a copy of the model
SHRINK_S = 15.0
KINDS_MAX = 3  # of differences in which a MUST is broken; the rest would say the same
# They read at several moments, and say so: on a server nothing else is possible.
AT_MOMENTS = {"timeline": ("dump", "verify")}


@dataclass
class Methods:
    """What the calls until now have shown of each method."""

    places: dict[str, int] = field(default_factory=dict)  # of its last call
    writers: set[str] = field(default_factory=set)
    stood: int = 0  # calls that stood still at a place, and were judged

    def learn(self, called: Called, changes: list[Change]) -> None:
        """From a call that was watched."""
        if not isinstance(called.seen, Refusal):
            self.places[called.method] = len(changes)
            self.writers |= {called.method} if any(change.size for change in changes) else set()


def why_not(system: str, hello: HelloReply) -> str | None:
    """None where such programs can be played, else the reason."""
    specification = SYSTEMS[system].model
    if specification is None or system == "relay":  # one process has the store, and reads the files of others as it can
        return "one process has the store, and no other can call meanwhile"
    if specification.needs_clock and hello.clock != "manual":
        return "they need a clock that the kit can set"
    return None


class HeldStage(Stage):
    """A stage that also knows the step `hold`: its first call stands still at a place, while the others come."""

    def __init__(self, fleet: Fleet, specification: Specification, dialects: dict[str, str], methods: Methods) -> None:
        super().__init__(fleet, specification, dialects)
        self.methods = methods

    def _do_hold(self, step: Step) -> None:
        victim, *others = step.calls
        called = self._prepared(victim)
        if called is None or not self._can_be_judged(called, others):
            self._leave_out(step)
            return
        self._look(step)  # earlier faults are not blamed on the schedule
        held = Held(step.params["place"])
        assert isinstance(called.at, int)
        with watched_child(self._doors[called.at]).watched(self.store, held.decide) as watch:
            thread = self._sent_off(called)
            try:
                until(lambda: held.stands or not thread.is_alive())
                done = [call for other in others if (call := self._meanwhile(other, held, called.at)) is not None]
            finally:
                held.let_go()
                thread.join()
        self.methods.learn(called, watch.changes)
        self.methods.stood += held.change is not None
        self._judge(step, [called, *done], tuple(self._orders([called, *done])))
        self._look(step)

    def _can_be_judged(self, called: Called, others: list[Step]) -> bool:
        """Nobody has to wait, each call is asked whenever the victim's comes, and there are not too many orders."""
        if called.method in AT_MOMENTS.get(self.fleet.system, ()):
            return False
        line = [call for other in others if other.do == "call" and (call := self._prepared(other)) is not None]
        own, *parts = [parts_of(self.model, call) for call in (called, *line)]
        are_judged = (self._is_judged([*line[:place], called, *line[place:]]) for place in range(len(line) + 1))
        return math.comb(own + sum(parts), own) <= ORDERS_MAX and all(are_judged)

    def _is_judged(self, calls: list[Called]) -> bool:
        """In this order, as far as the model knows it before the bus has answered."""
        trial = copy_of(self.model)
        try:
            for call in calls:
                answer = trial.call(call.step, call.at, call.method, call.params, call.now_ms)
                if answer.least_s > 0 or trial.wants_look() is not None:
                    return False
        except DoesNotApply:
            return False
        except Undecided:  # until it has
            return True
        return True

    def _meanwhile(self, step: Step, held: Held, at: int) -> Called | None:
        """What another does while the victim stands still; None if it cannot do that now."""
        if step.do == "clock":
            self._do_clock(step)
            return None
        called = self._prepared(step)
        if called is None or called.at == at:
            self.seen.left_out[step.method] += 1
            return None
        if called.at == "hand":
            # It waits for a lock as another program would; the victim may have it.
            timer = threading.Timer(IDLE_S, held.let_go)
            timer.start()
            done = self._done([called])
            timer.cancel()
            return next(iter(done), None)
        assert isinstance(called.at, int)
        door = self._doors[called.at]
        with watched_child(door).watched(self.store, lambda _: Continue()) as watch:
            thread = self._sent_off(called)
            until(or_waits(door, watch, lambda: not thread.is_alive()), STAND_S)
            if thread.is_alive():
                held.let_go()
            thread.join()
        self.methods.learn(called, watch.changes)
        return called

    def _orders(self, calls: list[Called]) -> Iterator[tuple[int, ...]]:
        own, *counts = [parts_of(self.model, call) for call in calls]
        return orders(own, [number for number, count in enumerate(counts, 1) for _ in range(count)])


def orders(own: int, line: list[int]) -> Iterator[tuple[int, ...]]:
    """The others come in their line; the so many parts of the first call (0) anywhere between."""
    for places in itertools.combinations(range(own + len(line)), own):
        rest = iter(line)
        yield tuple(0 if place in places else next(rest) for place in range(own + len(line)))


class Schedules:
    """Plays such programs on a bus. The script of each kind of difference is kept in `out`."""

    def __init__(self, specs: list[str], system: str, out: Path, *, seed: int = 1, time: Time | None = None) -> None:
        specification = SYSTEMS[system].model
        assert specification is not None
        self._specs, self._system, self._specification, self._out = specs, system, specification, out
        self._seed, self._time = seed, time or Time()
        self.counts: Counter[str] = Counter()
        self._methods = Methods()
        self._dialects: dict[str, str] = {}

    def run(self, programs: int = PROGRAMS) -> Iterator[list[tuple[Problem, Path]]]:
        """Yield the problems of each program, with the script that shows them."""
        kinds: set[tuple[str, ...]] = set()
        broken = 0
        with contextlib.closing(self._fleet()) as fleet:
            for seed in range(self._seed, self._seed + programs):
                if self._time.is_over or broken == KINDS_MAX:
                    break
                program = self._invented(fleet, seed)
                self.counts["drawn programs"] += 1
                self.counts["calls held in them"] = self._methods.stood
                if program.seen.undecided:
                    self.counts["programs undecided"] += program.seen.undecided
                if program.mismatch is None or program.mismatch.kind in kinds:
                    yield []
                else:
                    kinds.add(program.mismatch.kind)
                    broken += is_broken(self._system, program)
                    yield [self._kept(fleet, seed, program)]

    def replay(self, script: Path) -> Program:
        """Play a script again."""
        with contextlib.closing(self._fleet()) as fleet:
            return self._played(fleet, load(script))

    def _fleet(self) -> Fleet:
        return Fleet(self._specs, system=self._system, household=Supervision(bpf.LOCKS))

    def _invented(self, fleet: Fleet, seed: int) -> Program:
        program = Program(seed)
        with HeldStage(fleet, self._specification, self._dialects, self._methods) as stage:
            generator = self._specification.generator(random.Random(seed), stage.features)
            dice = random.Random(f"schedules {seed}")
            playing(program, stage, _drawn(generator, stage, self._methods, dice))
        return program

    def _played(self, fleet: Fleet, steps: list[Step]) -> Program:
        program = Program(0)
        with HeldStage(fleet, self._specification, dict(self._dialects), Methods()) as stage:
            playing(program, stage, steps)
        return program

    def _kept(self, fleet: Fleet, seed: int, program: Program) -> tuple[Problem, Path]:
        small, is_certain = shrink(lambda steps: self._played(fleet, steps), program, seconds=SHRINK_S)
        self._out.mkdir(parents=True, exist_ok=True)
        path = self._out / f"{seed}.jsonl"
        save(path, small.steps)
        assert small.mismatch is not None
        problem = _problem(self._system, small.mismatch, small)
        return replace(problem, again=f"--script {shlex.quote(str(path))}", is_by_luck=not is_certain), path


def _problem(system: str, mismatch: Mismatch, program: Program) -> Problem:
    rows = [row for name in mismatch.rows if (row := catalogue(system).get(name))]
    musts = [row for row in rows if row.level == "MUST"]
    first = next(iter(musts or rows), None)
    which = f" ({', '.join(row.id for row in (musts or rows)[:3])})" if rows else ""
    step = mismatch.step
    others = " and ".join(call.method for call in step.calls[1:] if call.do == "call")
    where = f"{step.calls[0].method} held, {others} meanwhile: " if step.do == "hold" else ""
    why = f"{where}{one_line(mismatch.difference)}{which}"
    return Problem(first.noun if first else "log", why, is_dialect=not is_broken(system, program))


def _drawn(generator: Generator, stage: Stage, methods: Methods, dice: random.Random) -> Iterator[Step]:
    """The generator's steps; some of its calls are held, some come between a call of another process and the same."""

    def another(step: Step) -> Iterator[Step]:
        drawn = [generator.draw(stage.model, stage.now_ms) for _ in range(CHOICE)]
        drawn = [candidate for candidate in drawn if _can_come(candidate) and candidate.params != step.params]
        other = max(drawn, key=lambda candidate: _interest(candidate, step, methods), default=None)
        elsewhere = sorted(stage.places - {step.at})
        if other is not None:
            yield replace(other, at=dice.choice(elsewhere)) if other.at == step.at and elsewhere else other

    recall = Recall(stage, dice)
    yield from generator.start()
    for _ in range(LENGTH):
        step = generator.draw(stage.model, stage.now_ms)
        luck, place = dice.random(), len(stage.history)
        if step.do != "call" or step.at not in stage.places or luck > HELD + RECALLED:
            yield step
            recall.note(step, place)
        elif luck > HELD:  # a process may remember a thing that another has changed by now
            around = recall.around(step)
            yield from (step,) if around is None else (around, step, replace(around))
        else:
            place = 1 + int(dice.random() * (1 + methods.places.get(step.method, FIRST_GUESS)))
            others = [call for _ in range(dice.choice(OTHERS)) for call in another(step)]
            yield Step("hold", calls=[step, *others], params={"place": place})
    yield from generator.end()


def _can_come(step: Step) -> bool:
    """The hand's work on files is no part of any order: a program may look at a path before, and again after it."""
    return step.do == "clock" or (step.do == "call" and (step.at != "hand" or step.method.startswith("stranger_")))


def _interest(other: Step, first: Step, methods: Methods) -> tuple[bool, int]:
    """Calls that only read seldom get in another's way, nor do those that name nothing in common with it."""
    reads = other.method in methods.places and other.method not in methods.writers
    return not reads, len(_texts(other.params) & _texts(first.params)) + (other.method == first.method)


def _texts(value: Any) -> frozenset[str]:
    if isinstance(value, dict):
        return frozenset().union(*map(_texts, value.values()))
    if isinstance(value, list):
        return frozenset().union(*map(_texts, value))
    return frozenset([value]) if isinstance(value, str) else frozenset()


def replayed(specs: list[str], system: str, script: Path) -> int:
    """Play a script, tell its difference, return the exit code: 0 none (or another choice), 1 a MUST, 2 not played."""
    try:
        program = Schedules(specs, system, script.parent).replay(script)
    except (OSError, ValueError, KeyError, DoorError) as error:
        say(f"busproof: {script}: {reason(error)}", sys.stderr)
        return 2
    if program.mismatch is not None:
        return tell(system, program)
    print(f"{program.seen.calls} calls, {program.seen.skipped + program.seen.undecided} left out: each is the model's")
    return 0
