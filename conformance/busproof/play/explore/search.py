"""The search: random programs that look at the model's state, until one of them finds a difference.

A system's generator draws the steps that matter now. Each program has a fresh store; the processes stay warm. The same
seed draws the same programs on every bus that answers alike.
"""

from __future__ import annotations

import contextlib
import math
import random
import time
from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial

from busproof.bus.fleet import Fleet
from busproof.oracle.models.spec import Undecided
from busproof.play.explore.drawing import FOLDERS
from busproof.play.explore.orders import Called, Schedules
from busproof.play.explore.recall import Recall, reached
from busproof.play.explore.script import Step
from busproof.play.explore.stage import Form, Generator, Mismatch, Seen, Specification, Stage

LENGTH = 60
# Of the steps: any earlier call; one that ends in another way by now; one that does with a word of another.
AGAIN, RECALLED, CROSSED = 0.06, 0.06, 0.08
AROUND = 0.25  # of the steps that the generator draws: between a call of another process, and the same again


@dataclass
class Program:
    """A program that was played: its steps, the things it touched, and its findings."""

    seed: int
    steps: list[Step] = field(default_factory=list)
    seen: Seen = field(default_factory=Seen)
    mismatch: Mismatch | None = None
    learnt: dict[str, Mismatch] = field(default_factory=dict)  # dialects, and the mismatches without them
    history: list[tuple[list[Called], Schedules]] = field(default_factory=list)  # each call, and how it ended

    @property
    def called(self) -> list[Called]:
        """Each call, one after the other."""
        return [called for calls, _ in self.history for called in calls]


def play(
    fleet: Fleet,
    specification: Specification,
    steps: list[Step],
    dialects: dict[str, str] | None = None,
    *,
    is_measured: bool = False,
    unexplained: Container[Form] = (),
) -> Program:
    """Play a script."""
    program = Program(0)
    with Stage(fleet, specification, dialects, is_measured=is_measured, unexplained=unexplained) as stage:
        program.seen, program.learnt, program.history = stage.seen, stage.learnt, stage.history
        for step in steps:
            program.steps.append(step)
            if not _went_well(program, partial(stage.do, step)):
                break
        else:
            _went_well(program, stage.end)
        program.seen.recalls = reached(stage) if is_measured else set()
    return program


def _went_well(program: Program, play_it: Callable[[], None]) -> bool:
    """Does the program go on? Not after a difference, nor where the machine's clock hides what the bus must do."""
    try:
        play_it()
    except Undecided:
        return False
    except Mismatch as mismatch:
        program.mismatch = mismatch
    return program.mismatch is None


def invent(
    fleet: Fleet,
    specification: Specification,
    seed: int,
    length: int,
    dialects: dict[str, str] | None = None,
    *,
    is_measured: bool = False,
) -> Program:
    """Draw a program and play it while it is drawn."""
    program = Program(seed)
    with Stage(fleet, specification, dialects, is_measured=is_measured) as stage:
        generator = specification.generator(random.Random(seed), stage.features)
        playing(program, stage, _drawn(generator, stage, length, random.Random(f"{AGAIN} {seed}")))
        program.seen.recalls = reached(stage) if is_measured else set()
    return program


Draw = Callable[[Fleet, Specification, int, int, dict[str, str] | None], Program]  # seed, length, dialects


def playing(program: Program, stage: Stage, steps: Iterable[Step]) -> None:
    """Play steps while they are drawn, to the end or to a difference. Those without a name get their number."""
    program.seen, program.learnt, program.history = stage.seen, stage.learnt, stage.history
    with contextlib.suppress(Undecided):  # also what is drawn next may rest on what the model cannot know
        for number, step in enumerate(steps):
            if not step.name:
                _name(step, str(number))
            program.steps.append(step)
            if not _went_well(program, partial(stage.do, step)):
                return
        _went_well(program, stage.end)


def _drawn(generator: Generator, stage: Stage, length: int, dice: random.Random) -> Iterator[Step]:
    """The generator's steps; now and then an earlier call once more.

    A process, or all of them, may remember a thing that was looked up, refused or not there when it was first asked
    for.
    """
    recall = Recall(stage, dice)
    ways = (recall.any, recall.changed, recall.crossed, lambda: None)
    yield from somewhere(dice)
    yield from generator.start()
    for _ in range(length):
        (draw,) = dice.choices(ways, (AGAIN, RECALLED, CROSSED, 1 - AGAIN - RECALLED - CROSSED))
        again = draw()
        step = generator.draw(stage.model, stage.now_ms) if again is None else again
        other = recall.around(step) if dice.random() < AROUND else None
        for each in (step,) if other is None else (other, step, replace(other)):
            place = len(stage.history)
            yield each
            recall.note(each, place)
    yield from generator.end()


def somewhere(dice: random.Random) -> Iterator[Step]:
    """Half of all programs are played on a store whose folder has an odd name."""
    if dice.random() < 0.5:
        yield Step("store", params={"folder": dice.choice(FOLDERS)})


def _name(step: Step, name: str) -> None:
    step.name = name
    for letter, c in zip("abcdef", step.calls, strict=False):
        c.name = f"{name}{letter}"


def search(
    fleet: Fleet,
    specification: Specification,
    *,
    seed: int,
    length: int = LENGTH,
    seconds: float | None = None,
    calls: int | None = None,
    programs: int | None = None,
    each: Callable[[Program], bool] = lambda program: program.mismatch is None,
    dialects: dict[str, str] | None = None,
    draw: Draw = invent,
) -> Iterator[Program]:
    """Programs one after the other, as long as `each` says so and time, calls or programs are left.

    A difference that vanishes without the choices learnt from earlier programs shows that one of them was no choice,
    but an accident that a choice also explained. That is believed once: a bus of two minds differs again.
    """
    began, done, upto = time.monotonic(), 0, math.inf if programs is None else seed + programs
    is_corrected = False
    while (seconds is None or time.monotonic() - began < seconds) and (calls is None or done < calls) and seed < upto:
        has_learnt = bool(dialects)
        program = draw(fleet, specification, seed, length, dialects)
        done += program.seen.calls
        if program.mismatch is not None and has_learnt and dialects is not None and not is_corrected:
            afresh: dict[str, str] = {}
            again = play(fleet, specification, program.steps, afresh)
            if again.mismatch is None:
                dialects.clear()
                dialects.update(afresh)
                program, is_corrected = replace(again, seed=seed), True
        seed += 1
        yield program
        if not each(program):
            return
