"""Power loss: the disks that may be left when the power goes, at every step of a session that plays all operations.

The session is played once and recorded. Every cut of its tape (`tape.cuts`) is a disk; a process that was not there
opens it, looks and works on. Then each operation dies before it syncs, the same call is made again, and the power
goes. The bus declares in hello.durability what must hold:

    power-loss     nothing that was acknowledged is missing: the state is the one after the last answer, or after the
                   call that was under way
    process-crash  the store opens and is whole, and holds the state after some call: a prefix is left. No row lacks
                   its blob, no file claims more than the database holds. How much was lost is told. If files are
                   written apart (`Truth.pieces`), each of them is whole.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import os
import queue
import random
import shlex
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from buschaos import reading, state
from buschaos.bus import RunFailed
from buschaos.crashpoints import first_of_each, rehearse
from buschaos.inspector import Inspector
from buschaos.limits import Time
from buschaos.nemeses.syscalls import Change
from buschaos.operations import Operation, Prepared, of_one_session
from buschaos.points import Outage
from buschaos.recording import Played, Recording
from buschaos.sessions import FILE, Durability, PowerResult, Sessions
from buschaos.stage import Ground, Rehearsal, Stage, Victims
from buschaos.state import Evidence, Problem
from buschaos.subjects import SUBJECTS
from buschaos.tape import image
from buschaos.tape.cuts import BLOCKS, MODELS, TIERS, Cut, PowerCuts
from buschaos.tape.image import Image
from buschaos.tape.step import Step
from busproof.bus.base import DoorError
from busproof.bus.fleet import Fleet
from busproof.bus.scratch import ROOM_OF_FEW_BYTES, scratch
from busproof.contract.history import read

IMAGES = 400  # distinct ones that are checked
IMAGES_OF_SLOW_STARTERS = 150
IMAGES_OF_SESSION = 2_000  # after so many, another order of the operations tells more
DEATHS_FEW = 3  # operations of a sample in which somebody dies before the power goes
DEATHS, DEATHS_OF_SLOW_STARTERS = 12, 1  # places of an operation at which somebody dies before the power goes
IMAGES_OF_DEATH = 8


_Disk = tuple[Cut, Image, int]  # and how many calls had been answered


def _said(params: dict[str, Any], _: Prepared) -> dict[str, Any]:
    """The parameters of a call that needs nothing of the prepared store."""
    return params


class _Look(NamedTuple):
    """The result for one disk: how many acknowledged calls it lacks, if that can be said, and its problems."""

    cut: Cut
    lost: int | None
    shown: list[tuple[Problem, Path]]


class PowerLoss:
    """Records sessions on a fleet's first bus, and checks their cuts. `deaths`: the number of places per operation;
    `parts`: so many runs share the usual number of images; `share`, (n, of): only each of-th session, from n on;
    `per_session`: the images of each; `only`: one cut of one session."""

    def __init__(
        self,
        fleet: Fleet,
        out: Path,
        *,
        durability: Durability | None = None,
        options: dict[str, Any] | None = None,
        operations: tuple[Operation, ...] | None = None,
        images: int | None = None,
        parts: int = 1,
        share: tuple[int, int] = (0, 1),
        per_session: int = IMAGES_OF_SESSION,
        only: Outage | None = None,
        deaths: int | None = None,
        seed: int = 0,
        resumes: bool = False,
        limit: Time | None = None,
        tell: Callable[[list[tuple[Problem, Path]]], None] = lambda _: None,
    ) -> None:
        self._fleet, self._out, self._seed = fleet, out, seed
        self._subject = reading.suited(SUBJECTS[fleet.system], fleet.hello)
        self._durability = durability or fleet.hello.durability
        self._options = options or {}
        every = self._subject.repertoire.operations if operations is None else operations
        self._operations = of_one_session(every, fleet.hello)
        slow = self._subject.is_slow_to_start
        usual = (IMAGES_OF_SLOW_STARTERS if slow else IMAGES) // parts
        self._images = images or usual
        self._places = deaths if deaths is not None else DEATHS_OF_SLOW_STARTERS if slow else DEATHS
        self._share, self._per_session, self._only = share, per_session, only
        self._limit, self._tell = limit or Time(), tell
        self._again = ""  # the flags for a cut after a death
        self.result = PowerResult(self._durability)  # all that is known, also if `run` is interrupted
        self.result.spared = max(0, usual - self._images) if self._limit.is_sample else 0
        self._sessions = Sessions(out / FILE, self._what(), resumes=resumes)
        self._numbers, self._name, self._number = itertools.count(), "", 0

    def _what(self) -> dict[str, Any]:
        """The settings that a session checked earlier must have had."""
        operations = [op.name for op in (*self._operations, *self._last())]
        return {
            "bus": self._fleet.specs,
            "seed": self._seed,
            "durability": self._durability,
            "options": self._options,
            "operations": operations,
        }

    def run(self) -> PowerResult:
        """Record, cut, judge: one session after the other, until there are enough images."""
        result, started = self.result, time.monotonic()
        if self._only is not None:
            self._session(self._only.session, 1, result)
            return result
        first, step = self._share
        try:
            for number in range(first, math.ceil(self._images / self._per_session), step):
                images = min(self._images - number * self._per_session, self._per_session)
                self._add(number, images)
        finally:
            result.seconds = time.monotonic() - started
        if self._places and not first and not result.doubt:
            after = self._deaths()
            result.deaths, result.after_deaths, result.undying = after.deaths, after.checked, after.undying
            result.problems += after.problems
            result.spared_deaths = after.spared_deaths
            result.doubt = after.doubt
        result.seconds = time.monotonic() - started
        return result

    def _add(self, number: int, images: int) -> None:
        """Add one session: an earlier run's, or a new one, of which all is told that is known if it is cut short."""
        if (done := self._sessions.done(number)) is not None:
            if done.problems:
                self._tell(done.problems)
            self.result.add(done)
            return
        new = PowerResult(self._durability)
        if not self._limit.is_over:
            new.sessions = 1
            try:
                self._session(number, images, new)
            finally:
                self.result.add(new)
        if self._limit.is_over:
            self.result.left_out += images - new.checked
        else:
            self._sessions.add(number, new)

    def _session(self, number: int, images: int, result: PowerResult) -> None:
        """One session, and its cuts. The first plays the operations as they are listed, later ones in other orders."""
        operations = list(self._operations)
        if number:
            random.Random(f"power session {self._seed} {number}").shuffle(operations)
            operations.sort(key=lambda op: not op.comes_first)
        operations += self._last()
        self._number = number
        self._name = f"{number}-"  # evidence of other sessions is in the same folder, perhaps of an earlier run
        with self._grounds(images) as (grounds, work):
            played = Recording(grounds[0], work, image.of(grounds[0].template), []).play(operations)
            result.doubt, result.steps = played.doubt, len(played.tape)
            if not result.doubt:  # otherwise these images would show disks that never existed
                states = self._states(grounds[0], played, work)
                cuts = self._distinct(played, f"{self._seed} {number}")
                if self._only is not None:
                    cuts = iter([self._one(played, self._only)])
                self._check(grounds, played, states, work, result, itertools.islice(cuts, images))

    def _last(self) -> list[Operation]:
        """One more call, new to the store: it shows what the last of the operations did to its connection."""
        declared = {*self._fleet.hello.nouns, *self._fleet.hello.features}
        return [
            Operation(f"{epilogue.method} at the end", "log", epilogue.method, partial(_said, epilogue.params))
            for epilogue in self._subject.epilogue[:1]
            if set(epilogue.needs) <= declared
        ]

    def _deaths(self) -> PowerResult:
        """Each operation dies before it syncs something, the same call is made again, and then the power goes."""
        result = PowerResult(self._durability)
        self._name = "death-"
        with self._grounds(0) as (grounds, work):
            every = [candidate for candidate in self._operations if not candidate.is_once]
            operations = self._limit.ordered(every, f"{self._seed}", lambda dying: dying.noun, few=DEATHS_FEW)
            result.spared_deaths = len(every) - len(operations)
            for number, operation in enumerate(operations):
                if self._limit.is_over:
                    result.undying = len(operations) - number
                    break
                rehearsal = rehearse(grounds[0], operation, work / "rehearsal")
                result.doubt = result.doubt or rehearsal.ledger.doubt
                for change in self._syncs(operation, rehearsal.changes):
                    self._death(grounds, operation, rehearsal, change, work, result)
        return result

    def _death(
        self,
        grounds: list[Ground],
        operation: Operation,
        rehearsal: Rehearsal,
        change: Change,
        work: Path,
        result: PowerResult,
    ) -> None:
        """Cuts after the second call was answered, and at the end. They show whether it believed the files it found."""
        before = [step for earlier in rehearsal.changes[: change.ordinal - 1] for step in earlier.steps]
        folder = work / f"again-{next(self._numbers)}"
        played = Recording(grounds[0], folder, rehearsal.base, before).play([operation])
        result.doubt = result.doubt or played.doubt
        if not result.doubt:
            ends = (played.marks[1].answered_at + 1, len(played.tape))
            self._again = f"--power 1 --deaths {self._places} --only {operation.name!r} --seed {self._seed}"
            cuts = self._distinct(played, f"{self._seed} {change}", ends)
            states = self._states(grounds[0], played, work)
            self._check(grounds, played, states, work, result, itertools.islice(cuts, IMAGES_OF_DEATH))
            result.deaths += 1

    def _syncs(self, operation: Operation, changes: list[Change]) -> list[Change]:
        """The places where something was written and is not on the disk yet; if there are many, some of them."""
        unsynced = [synced for synced in first_of_each(changes) if any(step.kind == "sync" for step in synced.steps)]
        if len(unsynced) <= self._places:
            return unsynced
        return random.Random(f"{self._seed} {operation.name}").sample(unsynced, self._places)

    @contextlib.contextmanager
    def _grounds(self, images: int) -> Iterator[tuple[list[Ground], Path]]:
        """A prepared store for each of those that look side by side, and a folder to work in."""
        with (
            scratch("power", room_bytes=ROOM_OF_FEW_BYTES) as work,
            contextlib.ExitStack() as lookers,
            contextlib.closing(Victims(self._fleet.specs[0], self._fleet.system, start_ahead=False)) as victims,
        ):
            history = work / "prepared.jsonl"
            prepared = self._subject.fill_store(self._fleet, work / "prepared", history, options=self._options)
            ids = {promise.id for promise in self._subject.truth.promises(read(history))}
            for operation in [*self._operations, *self._last()]:
                ids |= self._subject.repertoire.ids(operation.method, operation.params(prepared))
            inspector = lookers.enter_context(Inspector(self._fleet.system))
            ground = Ground(
                self._subject, self._fleet, victims, inspector, work / "prepared", history, prepared, ids, self._options
            )
            yield [ground, *(self._another(ground, lookers) for _ in range(self._others(images)))], work

    def _others(self, images: int) -> int:
        """How many look beside the first, one per core; to start one costs as much as a hundred images."""
        cores = len(os.sched_getaffinity(0)) // self._share[1]
        return min(max(cores, 1) - 1, images // 100)

    def _another(self, ground: Ground, lookers: contextlib.ExitStack) -> Ground:
        """The same, with processes of its own to look with."""
        fleet = lookers.enter_context(contextlib.closing(Fleet(self._fleet.specs, system=self._fleet.system)))
        return replace(ground, fleet=fleet, inspector=lookers.enter_context(Inspector(self._fleet.system)))

    def _states(self, ground: Ground, played: Played, work: Path) -> list[dict[str, Any]]:
        """The states that are found before the session and after each answer."""
        states = []
        for end in (0, *(mark.answered_at for mark in played.marks)):
            left = image.replay(played.base, played.tape[:end])
            with contextlib.closing(self._stage(ground, left, work)) as stage:
                states.append(stage.look())
        return states

    def _stage(self, ground: Ground, left: Image, work: Path) -> Stage:
        return Stage(ground, self._operations[0], work / f"cut-{self._name}{next(self._numbers)}", left)

    # -- the cuts

    def _check(
        self,
        grounds: list[Ground],
        played: Played,
        states: list[dict[str, Any]],
        work: Path,
        result: PowerResult,
        cuts: Iterator[_Disk],
    ) -> None:
        """Several look side by side: most of a look is waiting. Their results are taken in the order of the cuts."""
        idle: queue.SimpleQueue[Ground] = queue.SimpleQueue()
        for ground in grounds:
            idle.put(ground)
        looks: deque[Future[_Look]] = deque()

        def look(cut: Cut, left: Image, acknowledged: int) -> _Look:
            ground = idle.get()
            try:
                return self._look(ground, cut, left, played, states, acknowledged, work)
            finally:
                idle.put(ground)

        with ThreadPoolExecutor(len(grounds)) as pool:
            for cut, left, acknowledged in cuts:
                looks.append(pool.submit(look, cut, left, acknowledged))
                if len(looks) > 2 * len(grounds):
                    self._take(looks.popleft().result(), result)
                if self._limit.is_over:
                    break
            while looks:
                self._take(looks.popleft().result(), result)

    def _take(self, look: _Look, result: PowerResult) -> None:
        result.checked += 1
        result.by_model[look.cut.model] += 1
        if look.lost is not None:
            result.lost[look.lost] += 1
        result.problems += look.shown
        self._tell(look.shown)

    def _distinct(self, played: Played, seed: str, ats: Sequence[int] = ()) -> Iterator[_Disk]:
        """Each disk once, with the number of calls that had been answered; `ats`: after these steps alone."""
        seen: set[tuple[int | bytes, int]] = set()
        cutters = {block: PowerCuts(played.base, played.tape, block) for block in BLOCKS}
        for cut in self._ordered(cutters, played.tape, seed, ats):
            acknowledged = _answered(played, cut)
            kept = cutters[cut.block].kept(cut)
            if (recipe := (kept * len(BLOCKS) + BLOCKS.index(cut.block), acknowledged)) in seen:
                continue
            left = cutters[cut.block].make(kept)
            if (disk := (left.digest(), acknowledged)) not in seen:
                yield cut, left, acknowledged
            seen |= {recipe, disk}

    def _one(self, played: Played, only: Outage) -> _Disk:
        """The disk of the one cut that was asked for."""
        cut = only.cut
        if cut.block in BLOCKS and cut.at <= len(played.tape):
            cutter = PowerCuts(played.base, played.tape, cut.block)
            if any(cut in cutter.cuts(cut.at, cut.model, tier) for tier in TIERS):
                return cut, cutter.image(cut), _answered(played, cut)
        raise RunFailed(f"there is no cut {only} of this session, which has {len(played.tape)} steps")

    def _look(
        self,
        ground: Ground,
        cut: Cut,
        left: Image,
        played: Played,
        states: list[dict[str, Any]],
        acknowledged: int,
        work: Path,
    ) -> _Look:
        with contextlib.closing(self._stage(ground, left, work)) as stage:
            problems, lost = self._judge(stage, played, states, acknowledged)
            shown = []
            if problems:
                kept = stage.keep(self._out / "power" / stage.folder.name, str(cut))
                under_way = [mark.name for mark in played.marks[acknowledged : acknowledged + 1]]
                point = f"{cut}; under way: {', '.join(under_way) or 'nothing more'}"
                problems = [replace(problem, point=point, again=self._flags(cut)) for problem in problems]
                shown = [(problem, kept / "history.jsonl") for problem in problems]
        return _Look(cut, lost, shown)

    def _flags(self, cut: Cut) -> str:
        """The flags that play a cut alone, or, after a death, the few cuts of its operation."""
        options = "".join(f" --option {shlex.quote(f'{name}={value}')}" for name, value in self._options.items())
        here = self._again or f"--at {Outage(cut, self._number)} --seed {self._seed}"
        return f"{here} --durability {self._durability}{options}"

    def _ordered(self, cutters: dict[int, PowerCuts], tape: list[Step], seed: str, ats: Sequence[int]) -> Iterator[Cut]:
        """The cuts that break most come first; within a tier, the seed draws the order."""
        dice = random.Random(f"power {seed}")
        for tier in TIERS:
            cuts = [
                cut
                for block, cutter in cutters.items()
                for at in ats or range(1, len(tape) + 1)
                for model in (MODELS if block == BLOCKS[0] else MODELS[1:])
                for cut in cutter.cuts(at, model, tier)
            ]
            dice.shuffle(cuts)
            # After a name, a size or an answer, more depends on unsynced data than in the middle of writing.
            cuts.sort(key=lambda cut: (tape[cut.at - 1].kind == "write", cut.block != BLOCKS[0]))
            yield from cuts

    def _judge(
        self, stage: Stage, played: Played, states: list[dict[str, Any]], acknowledged: int
    ) -> tuple[list[Problem], int | None]:
        """The problems, and how many of the last acknowledged calls are lost, if a state after a call is left."""
        is_strict = self._durability == "power-loss"
        # states[0] is before the session, states[n] after the n-th answer.
        allowed = range(acknowledged if is_strict else 0, min(acknowledged + 2, len(states)))
        try:
            left_state, evidence = stage.find()
        except DoorError as error:
            return [Problem("log", f"after a power cut the store cannot be used: {error}")], None
        if not is_strict and self._subject.truth.pieces is not None:
            pieces = self._subject.truth.pieces
            return pieces(evidence) or self._go_on(stage, pieces), None
        if is_strict and acknowledged:
            evidence = replace(evidence, promises=played.marks[acknowledged - 1].promises)
        problems = [*self._subject.truth.problems(evidence), *self._subject.ahead(evidence)]
        same = [n for n in allowed if state.tables(states[n]) == state.tables(left_state)]
        lost = max(0, acknowledged - same[-1]) if same else None
        if not same:
            nearest = states[allowed[-1] if is_strict else acknowledged]
            what = (
                "is not the one that was acknowledged"
                if is_strict
                else "is that after none of the calls: half of one is left"
            )
            noun = played.marks[acknowledged - 1].noun if acknowledged else "log"
            problems.append(Problem(noun, f"the state {what}: {state.difference(nearest, left_state)}"))
        elif is_strict:
            problems += _files(left_state, [states[n] for n in allowed])
        if problems or self._subject.is_slow_to_start:
            return problems, lost
        return self._go_on(stage, self._subject.truth.problems), lost

    def _go_on(self, stage: Stage, judge: Callable[[Evidence], list[Problem]]) -> list[Problem]:
        try:
            stage.go_on()
            return judge(stage.evidence())
        except DoorError as error:
            return [Problem("log", f"after a power cut the bus does not work on: {error}")]


def _answered(played: Played, cut: Cut) -> int:
    """How many calls had been answered when the power went."""
    return sum(mark.answered_at < cut.at for mark in played.marks)


def _files(left_state: dict[str, Any], allowed: list[dict[str, Any]]) -> Iterator[Problem]:
    """Each file is as it was after the last answer, or as the call that was under way leaves it."""

    def files(state: dict[str, Any]) -> dict[str, str]:
        return {row["path"]: row["content"] for row in state["files"]}

    now, may = files(left_state), list(map(files, allowed))
    for path in sorted({*now, *may[0]}):
        if all(now.get(path) != file_set.get(path) for file_set in may):
            yield Problem("log", f"{path} is {now.get(path, 'missing')}, and was acknowledged as {may[0].get(path)}")
