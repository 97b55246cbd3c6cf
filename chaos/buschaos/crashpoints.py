"""Kill points: an operation is killed before each change that it makes to its store, and in the middle of each write.

For every point: a copy of the prepared store, a new process that plays the operation and dies there, then another
process. What it finds must be the state before or the state after the operation, or the state after if the victim
had answered. The same call again must succeed and reach the state after. At the end the store must be whole.

With `errors`, the same points are not killed but told ENOSPC or EIO once: whatever the bus answers must be true.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from buschaos.bus import RunFailed
from buschaos.inspector import Inspector
from buschaos.nemeses.syscalls import Change, Continue, Fail, Kill, Torn, Verdict
from buschaos.operations import Operation, applicable, prepare_store
from buschaos.stage import Ground, Rehearsal, Stage, Victims
from buschaos.state import Problem
from buschaos.subjects import SUBJECTS
from busproof.fleet import Fleet
from busproof.history import read

_NO_SPACE_CALLS = ("write", "pwrite64", "writev", "pwritev", "pwritev2", "openat", "open", "creat", "ftruncate")


@dataclass(frozen=True)
class Point:
    """One fault at one change of one operation. `ordinal` 0: SIGKILL right after the answer."""

    ordinal: int
    verdict: Verdict

    def decide(self, change: Change) -> Verdict:
        """What happens to a change. A tear needs a write that is longer; where it is not, it is a kill."""
        if change.ordinal != self.ordinal:
            return Continue()
        if isinstance(self.verdict, Torn) and (change.size or 0) <= self.verdict.size:
            return Kill()
        return self.verdict

    def describe(self, struck: Change | None) -> str:
        """For a reader. The change that was struck may be another than in the rehearsal: ids and pages vary."""
        match self.verdict:
            case _ if struck is None:
                return "killed after the answer" if self.ordinal == 0 else "not struck"
            case Torn(size):
                return f"killed after {size} bytes of {struck}"
            case Fail(number):
                return f"{errno.errorcode[number]} at {struck}"
            case _:
                return f"killed before {struck}"


@dataclass
class PointResult:
    """What a point showed; `kept` is the folder with its store and history if it showed a problem."""

    title: str
    problems: list[Problem]
    is_struck: bool
    kept: Path | None = None


@dataclass
class OperationResult:
    """All points of one operation."""

    operation: Operation
    changes: list[Change]
    points: list[PointResult] = field(default_factory=list)

    @property
    def bad(self) -> list[PointResult]:
        """Points that showed a problem."""
        return [point for point in self.points if point.problems]


def cuts(size: int) -> set[int]:
    """Where a write of this size is torn: after its first byte, at a sector, in its middle, before its last byte."""
    return {cut for cut in (1, 512, size // 2, size - 1) if 0 < cut < size}


def in_the_middle(size: int) -> set[int]:
    """One tear a write: for the short form."""
    return {size // 2} if size > 1 else set()


class CrashPoints:
    """Plays all points of all operations; the victims are processes of the fleet's first bus.

    `judge` turns a point's history into problems; `torn` are the sizes at which a write of n bytes is cut.
    """

    def __init__(
        self,
        fleet: Fleet,
        out: Path,
        *,
        judge: Callable[[Path], list[Problem]] = lambda _: [],
        kills: bool = True,
        torn: Callable[[int], set[int]] = cuts,
        errors: tuple[int, ...] = (),
        operations: tuple[Operation, ...] | None = None,
    ) -> None:
        self._fleet, self._out, self._judge = fleet, out, judge
        self._kills, self._torn, self._errors = kills, torn, errors
        self._subject = SUBJECTS[fleet.system]
        every = self._subject.operations if operations is None else operations
        self._operations = [op for op in every if applicable(op, fleet.hello)]
        self._numbers = itertools.count()

    def run(self) -> Iterator[OperationResult]:
        """One result an operation, as they come."""
        victims = Victims(
            self._fleet.specs[0], self._fleet.system, start_ahead=self._kills or self._subject.is_slow_to_start
        )
        work = Path(tempfile.mkdtemp(prefix="busproof-points-"))
        try:
            with Inspector(self._fleet.system) as inspector:
                history = work / "prepared.jsonl"
                prepared = prepare_store(self._fleet, work / "prepared", history, self._subject.prepare)
                ids = {promise.id for promise in self._subject.promises(read(history))}
                ground = Ground(
                    self._subject, self._fleet, victims, inspector, work / "prepared", history, prepared, ids
                )
                for operation in self._operations:
                    yield self._all_points(ground, operation, work)
        finally:
            victims.close()
            shutil.rmtree(work, ignore_errors=True)

    def _all_points(self, ground: Ground, operation: Operation, work: Path) -> OperationResult:
        rehearsal = self._rehearse(ground, operation, work / "rehearsal")
        result = OperationResult(operation, rehearsal.changes)
        for point in self._points(rehearsal.changes):
            with contextlib.closing(Stage(ground, operation, work / f"point-{next(self._numbers)}")) as stage:
                played = self._play(stage, operation, point, rehearsal)
            result.points.append(played)
            if point.ordinal > len(rehearsal.changes) and not played.is_struck:
                break
        return result

    def _rehearse(self, ground: Ground, operation: Operation, folder: Path) -> Rehearsal:
        """Play without a nemesis. The state before is looked at in another copy: a look may tidy the files up."""
        before = None
        # Who opens an empty store to look at it makes it; from outside there is nothing, which is a state too.
        if not operation.empty_store or self._subject.read is not None:
            with contextlib.closing(Stage(ground, operation, folder)) as stage:
                before = stage.look()
        with contextlib.closing(Stage(ground, operation, folder)) as stage:
            outcome = stage.play(lambda _: Continue())
            if not outcome.answered:
                raise RunFailed(f"{operation.name} fails without any nemesis: {outcome.refused or 'no answer'}")
            after = stage.look()
        return Rehearsal(outcome.watch.changes, after if before is None else before, after)

    def _points(self, changes: list[Change]) -> Iterator[Point]:
        """The last ones lie beyond the rehearsal, which may have made fewer changes: until nothing is struck."""
        for number in self._errors:
            for change in changes:
                if number != errno.ENOSPC or change.call in _NO_SPACE_CALLS:
                    yield Point(change.ordinal, Fail(number))
        if self._kills:
            yield Point(0, Kill())
            for change in changes:
                yield Point(change.ordinal, Kill())
                for size in sorted(self._torn(change.size or 0)):
                    yield Point(change.ordinal, Torn(size))
            for ordinal in itertools.count(len(changes) + 1):
                yield Point(ordinal, Kill())

    def _play(self, stage: Stage, operation: Operation, point: Point, rehearsal: Rehearsal) -> PointResult:
        outcome = stage.play(point.decide, kill_after_answer=point.ordinal == 0)
        title = f"{operation.name}, {point.describe(outcome.watch.struck)}"
        problems = stage.judge(outcome, rehearsal) or self._judge(stage.history())
        is_struck = outcome.watch.struck is not None
        if not problems:
            return PointResult(title, [], is_struck)
        name = f"{operation.name.replace(' ', '_').replace(',', '')}-{stage.folder.name.partition('-')[2]}"
        return PointResult(title, problems, is_struck, stage.keep(self._out / "points" / name, title))
