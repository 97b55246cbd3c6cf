"""Kill points: an operation is killed before each change that it makes to its store, and in the middle of each write.

One recorded run of the operation gives all images that a kill can leave (`snapshots`). Each is handed to a process that
was not there. It must find the state before or the state after the operation, or the state after if the victim had
answered. The same call again must succeed and reach the state after, and new calls must work. At the end the store must
be whole. A seeded sample of the points is killed for real, with the same result.

Most of these are asked to end, by a signal or the end of their input: they may finish the call, and do no more. After
one point the next process dies in its recovery, too, and a third one must complete that. Where a file names the dead
process, it then names another that lives, as after the system has given its number again.

With `errors`, a real process gets an error at each change, once or until its call is over, and its answer must be true.
With `shorts`, a write at each place takes a part of its bytes and says so; the next one finds room, or none. With
`others`, other users of the same files work on them at each place, while the process stands there. An operation that
was not seen whole is never called good (`Ledger.doubt`).
"""

from __future__ import annotations

import contextlib
import itertools
import os
import random
import re
import signal
import subprocess
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from buschaos import reading
from buschaos.bus import RunFailed
from buschaos.inspector import Inspector
from buschaos.limits import LEAST_S, Time
from buschaos.nemeses import bpf
from buschaos.nemeses.syscalls import ANSWER, Change, Continue, End, Fail, Kill, Others, Short, Watch
from buschaos.operations import Operation, applicable
from buschaos.points import AFTER_THE_ANSWER, ENDS, PLACES_FILES, READS, SYNCS, Point, may_fail, why_impossible
from buschaos.snapshots import Shot, shots
from buschaos.stage import Ground, Outcome, Rehearsal, Stage, Victims
from buschaos.state import Problem
from buschaos.subjects import SUBJECTS
from buschaos.tape.cuts import BLOCKS, PowerCuts
from buschaos.tape.image import Image
from busproof.bus.fleet import Fleet
from busproof.bus.scratch import ROOM_OF_FEW_BYTES, scratch
from busproof.contract.history import Event

Kind = tuple[object, ...]  # a fault and its place: if time is short, each kind has a point first
FEW, FEW_ERRORS = 3, 2  # points of an operation, in a sample; half as many of slow starters
OPERATIONS_FEW = 6  # of slow starters, in a sample
REAL_KILLS = 1  # of each operation's points, for readers to whom snapshots are not proof enough
RECOVERIES = 1  # of each operation, in which a second process dies, and
RECOVERIES_OF_MANY_STEPS = 6  # where the next to come finishes what was begun
DEATHS_OF_A_RECOVERY = 14
NAMES_BYTES_MAX = 512  # of a file that says who holds something
PIDS_TAKEN = 2  # of each operation's points at which a file names the dead process
AGAIN_OF_SLOW_STARTERS = 4  # points of an operation at which the call is made again; all are looked at


@dataclass
class PointResult:
    """The result of a point; `kept` is the folder with its store and history if it showed a problem."""

    point: Point
    title: str
    problems: list[Problem]
    is_struck: bool
    kept: Path | None = None


@dataclass
class OperationResult:
    """All points of one operation."""

    operation: Operation
    changes: list[Change]
    doubt: str  # the part of it that was not seen, if any
    points: list[PointResult] = field(default_factory=list)
    left_out: int = 0  # points for which there was no time
    spared: int = 0  # points that a sample does without

    @property
    def bad(self) -> list[PointResult]:
        """Points that showed a problem."""
        return [point for point in self.points if point.problems]


def cuts(size: int) -> set[int]:
    """Where a write of this size is torn: after its first byte, at a sector, in its middle, before its last byte."""
    return {cut for cut in (1, 512, size // 2, size - 1) if 0 < cut < size}


def in_the_middle(size: int) -> set[int]:
    """One tear per write, for the short form."""
    return {size // 2} if size > 1 else set()


class CrashPoints:
    """Plays all points of all operations; the victims are processes of the fleet's first bus.

    `judge` turns a point's events into problems; `torn` gives the sizes at which a write of n bytes is cut; `tell` gets
    each point as it comes. If the time is limited, each operation has a share of it, and the seed draws its points.
    """

    def __init__(
        self,
        fleet: Fleet,
        out: Path,
        *,
        judge: Callable[[list[Event]], list[Problem]] = lambda _: [],
        kills: bool = True,
        torn: Callable[[int], set[int]] = cuts,
        errors: tuple[int, ...] = (),
        sticky: tuple[bool, ...] = (False,),
        operations: tuple[Operation, ...] | None = None,
        only: Point | None = None,
        seed: int = 0,
        real_kills: int = REAL_KILLS,
        reads: bool = False,
        shorts: bool = False,
        others: bool = False,
        time: Time | None = None,
        tell: Callable[[PointResult], None] = lambda _: None,
    ) -> None:
        self._fleet, self._out, self._judge = fleet, out, judge
        self._time, self._tell = time or Time(), tell
        self.left_out = 0  # operations for which there was no time
        self.spared = 0  # operations that a sample does without
        self.why_impossible = ""  # why an operation does not have the one point that was asked for
        self._kills, self._torn, self._errors, self._sticky = kills, torn, errors, sticky
        self._only, self._seed, self._real_kills, self._reads = only, seed, real_kills, reads
        self._shorts, self._others = shorts, others
        few = FEW if kills else FEW_ERRORS
        self._subject = reading.suited(SUBJECTS[fleet.system], fleet.hello)
        self._few = few // 2 if self._subject.is_slow_to_start else few
        every = self._subject.repertoire.operations if operations is None else operations
        self._operations = [op for op in every if applicable(op, fleet.hello)]
        self._numbers = itertools.count()
        self._heir = 0  # the pid that the dead leave to another, while `run` goes on

    def run(self) -> Iterator[OperationResult]:
        """Yield one result per operation, as they come."""
        start_ahead = self._kills or self._subject.is_slow_to_start
        also = (*(bpf.READS if self._reads else ()), *(bpf.SIGNALS if self._subject.spares else ()))
        victims = Victims(
            self._fleet.specs[0], self._fleet.system, start_ahead=start_ahead, also=also, spares=self._subject.spares
        )
        try:
            with (
                Inspector(self._fleet.system) as inspector,
                scratch("points", room_bytes=ROOM_OF_FEW_BYTES) as work,
                living() as self._heir,
            ):
                ground = Ground.new(self._subject, self._fleet, victims, inspector, work / "prepared")
                few = OPERATIONS_FEW if self._subject.is_slow_to_start else None
                ordered = self._time.ordered(self._operations, f"{self._seed}", lambda played: played.noun, few=few)
                self.spared = len(self._operations) - len(ordered)
                for number, operation in enumerate(ordered):
                    if self._time.is_over:
                        self.left_out = len(ordered) - number
                        break
                    ground = ground.fresh(work / f"prepared-{number}")
                    time = self._time.part(len(ordered) - number, LEAST_S)
                    yield self._all_points(ground, operation, work, time)
        finally:
            victims.close()

    def _all_points(self, ground: Ground, operation: Operation, work: Path, time: Time) -> OperationResult:
        rehearsal = rehearse(ground, operation, work / "rehearsal")
        result = OperationResult(operation, rehearsal.changes, rehearsal.ledger.doubt)
        if self._only is not None and (why := why_impossible(self._only, rehearsal.changes)):
            self.why_impossible = f"{operation.name} has no point {self._only}: {why}"
            return result
        every = list(self._plays(ground, operation, rehearsal, work, is_whole=not result.doubt))
        if not every and self._only is not None and self._only.is_pid_taken:
            self.why_impossible = f"{operation.name} has no point {self._only}: no small file names a process there"
        plays = time.ordered(every, f"{self._seed} {operation.name}", lambda play: play[0], few=self._few)
        result.spared = len(every) - len(plays)
        for number, (_, play) in enumerate(plays):
            if time.is_over:
                result.left_out = len(plays) - number
                break
            result.points.append(play())
            self._tell(result.points[-1])
        return result

    def _plays(
        self, ground: Ground, operation: Operation, rehearsal: Rehearsal, work: Path, *, is_whole: bool
    ) -> Iterator[tuple[Kind, Callable[[], PointResult]]]:
        """Yield every point as a function to be called, with its kind."""
        kinds = places(rehearsal.changes)

        def real(point: Point) -> tuple[Kind, Callable[[], PointResult]]:
            kind = str(point).partition(":")[2], kinds.get(point.ordinal)
            return kind, lambda: self._real(ground, operation, point, rehearsal, work)

        if self._only is not None and not (self._only.then or self._only.is_pid_taken):
            yield real(self._only)
            return
        if operation.first is None:
            yield from map(real, self._error_points(rehearsal.changes))
            yield from map(real, self._short_points(rehearsal.changes) if self._shorts else ())
            if self._others and operation.name in self._subject.repertoire.others:
                yield from (real(Point(change.ordinal, Others())) for change in turns(rehearsal.changes))
        if self._kills and operation.first is not None:
            ordinals = (AFTER_THE_ANSWER, *(change.ordinal for change in rehearsal.changes))
            yield from (real(Point(ordinal, Kill())) for ordinal in ordinals)
            return
        # If the tape is not whole, its images show disks that never existed.
        if not self._kills or not is_whole:
            return
        left = list(shots(rehearsal.base, rehearsal.changes, self._torn))
        dying_again = partial(self._dies_again, ground, operation, rehearsal=rehearsal, work=work)
        taken = list(self._with_pid_taken(left, rehearsal.processes))
        look_at = partial(self._look_at, ground, operation, rehearsal=rehearsal, work=work)
        if self._only is not None:
            yield from (((), partial(look_at, shot, again=True)) for shot in taken if self._only == shot.point)
            yield from (((), partial(dying_again, shot)) for shot in left if replace(self._only, then=0) == shot.point)
            return
        # Nobody works on a file that is half made: where one is made, no place may be left to luck.
        is_drawn = self._subject.is_slow_to_start and not operation.empty_store
        again = self._drawn(operation, left, AGAIN_OF_SLOW_STARTERS if is_drawn else None)
        for shot in left:
            look = partial(look_at, shot, again=shot in again)
            yield (type(shot.point.verdict).__name__, shot.is_answered, kinds.get(shot.point.ordinal)), look
        deaths = self._drawn(operation, left, self._real_kills)
        yield from (real(self._as_it_ends(operation, shot.point)) for shot in deaths)
        for shot in self._drawn(operation, taken, PIDS_TAKEN):
            yield ("pid", kinds.get(shot.point.ordinal)), partial(look_at, shot, again=True)
        # Before a step that puts a file in its place, or away: a recovery has something to finish there.
        steps = [shot for shot in left if shot.struck is not None and shot.struck.call in PLACES_FILES]
        unanswered = [shot for shot in steps if not shot.is_answered and shot.point.verdict == Kill()]
        recoveries = RECOVERIES if self._subject.catch_up is None else RECOVERIES_OF_MANY_STEPS
        for shot in self._drawn(operation, unanswered, recoveries if self._real_kills else 0):
            yield ("again", kinds.get(shot.point.ordinal)), partial(dying_again, shot)

    def _as_it_ends(self, operation: Operation, point: Point) -> Point:
        """A death at this place: some processes are not killed, but asked to end, most of them by SIGTERM."""
        dice = random.Random(f"{self._seed} {operation.name} ends")
        verdict = dice.choice((point.verdict, *(End(number) for number in ENDS.values()), End(signal.SIGTERM)))
        return point if verdict == point.verdict else Point(point.ordinal, verdict)

    def _drawn(self, operation: Operation, left: list[Shot], count: int | None) -> list[Shot]:
        """Draw `count` of them, the same for the same seed."""
        if count is None or count >= len(left):
            return left
        return random.Random(f"{self._seed} {operation.name}").sample(left, count)

    def _error_points(self, changes: list[Change]) -> Iterator[Point]:
        """Each error at each change that can meet it."""
        for number, is_sticky in itertools.product(self._errors, self._sticky):
            for change in changes:
                if may_fail(change, number) and (change.call in READS or not self._reads):
                    yield Point(change.ordinal, Fail(number), is_sticky)

    @staticmethod
    def _short_points(changes: list[Change]) -> Iterator[Point]:
        """One write per place, cut in its middle: then there is room again, or the disk is full."""
        for change in first_of_each(changes):
            for size in in_the_middle(change.size or 0):
                yield from (Point(change.ordinal, Short(size), is_sticky) for is_sticky in (False, True))

    def _look_at(
        self, ground: Ground, operation: Operation, shot: Shot, *, rehearsal: Rehearsal, work: Path, again: bool
    ) -> PointResult:
        """A point at which nobody had to die."""
        folder = work / f"point-{next(self._numbers)}"
        with contextlib.closing(Stage(ground, operation, folder, shot.image)) as stage:
            outcome = stage.pretend(shot, rehearsal.reply)
            problems = stage.judge(outcome, rehearsal, again=again) or self._judge(stage.events())
            return self._result(stage, operation, shot.point, shot.struck, problems)

    def _with_pid_taken(self, shots_left: list[Shot], processes: frozenset[int]) -> Iterator[Shot]:
        """The points at which files name the dead process; there they name one that lives, and knows of nothing."""
        for shot in shots_left:
            image = named_anew(shot.image, processes, self._heir)
            if shot.point.verdict == Kill() and image != shot.image:
                yield replace(shot, point=replace(shot.point, is_pid_taken=True), image=image)

    def _dies_again(
        self, ground: Ground, operation: Operation, shot: Shot, *, rehearsal: Rehearsal, work: Path
    ) -> PointResult:
        """The next process dies between the first steps of its recovery; a third one must complete that."""
        with contextlib.closing(Stage(ground, operation, work / f"point-{next(self._numbers)}", shot.image)) as stage:
            base, changes = stage.recovery()
        steps = {change.ordinal for change in turns(changes)}
        seconds = [second for second in shots(base, changes, lambda _: set()) if second.point.ordinal in steps]
        if self._only is None:
            seconds = seconds[:DEATHS_OF_A_RECOVERY]  # behind them it does new work, which dies elsewhere
        result = PointResult(shot.point, "", [], is_struck=bool(seconds))
        for second in seconds:
            point = replace(shot.point, then=second.point.ordinal)
            if self._only in (None, point):
                dead = replace(shot, point=point, image=second.image)
                result = self._look_at(ground, operation, dead, rehearsal=rehearsal, work=work, again=False)
            if result.problems:
                break
        return result

    def _real(
        self, ground: Ground, operation: Operation, point: Point, rehearsal: Rehearsal, work: Path
    ) -> PointResult:
        """A point with a real victim."""
        is_error = isinstance(point.verdict, Fail)
        with contextlib.closing(Stage(ground, operation, work / f"point-{next(self._numbers)}")) as stage:
            played = replace(point, verdict=Others(stage.others)) if isinstance(point.verdict, Others) else point
            outcome = stage.play(
                played.decide_call(),
                kill_after_answer=point.ordinal == AFTER_THE_ANSWER,
                end=point.verdict if isinstance(point.verdict, End) else None,
                records=is_error,
            )
            struck = outcome.watch.struck
            if isinstance(point.verdict, Others) and not stage.has_company:
                struck = None
            left = None
            if is_error and outcome.answered and struck is not None and struck.call in SYNCS:
                left = self._after_failed_sync(outcome, struck)
            problems = stage.judge(outcome, rehearsal) or self._judge(stage.events())
            if problems or left is None:
                return self._result(stage, operation, point, struck, problems)
        # The call was answered although the system could not write. The dropped data is not on the disk, and it takes
        # no power failure to lose it.
        shot = Shot(point, struck, left, is_answered=True)
        return self._look_at(ground, operation, shot, rehearsal=rehearsal, work=work, again=True)

    def _after_failed_sync(self, outcome: Outcome, struck: Change) -> Image:
        assert outcome.base is not None
        earlier = (change for change in outcome.watch.changes if change.ordinal < struck.ordinal)
        place = sum(len(change.steps) for change in earlier)
        return PowerCuts(outcome.base, outcome.watch.tape, BLOCKS[0]).after_failed_sync(place)

    def _result(
        self, stage: Stage, operation: Operation, point: Point, struck: Change | None, problems: list[Problem]
    ) -> PointResult:
        title = f"{operation.name}, {point.describe(struck)}"
        if not problems:
            return PointResult(point, title, [], struck is not None)
        again = f"--only {operation.name!r} --at {point}"
        problems = [replace(problem, point=title, again=again) for problem in problems]
        name = f"{operation.name.replace(' ', '_').replace(',', '')}-{stage.folder.name.partition('-')[2]}"
        return PointResult(point, title, problems, struck is not None, stage.keep(self._out / name, title))


def rehearse(ground: Ground, operation: Operation, folder: Path) -> Rehearsal:
    """Play without a nemesis. The state before is looked at in another copy: a look may tidy the files up."""
    before = None
    # A look at an empty store opens it; from outside there is nothing, which is a state, too.
    is_made_by_a_look = operation.empty_store and operation.method == "open"
    if not is_made_by_a_look or ground.subject.read is not None:
        with contextlib.closing(Stage(ground, operation, folder)) as stage:
            before = stage.look_at_the_first()
    with contextlib.closing(Stage(ground, operation, folder)) as stage:
        outcome = stage.play(lambda _: Continue(), records=True)
        if not outcome.answered:
            raise RunFailed(f"{operation.name} fails without any nemesis: {outcome.refused or 'no answer'}")
        after = stage.look()
        if _is_named(outcome.watch):
            stage.dismiss()  # a process that finds its number must find nobody there
    assert outcome.base is not None
    assert outcome.ledger is not None
    ledger = replace(outcome.ledger, is_changed=before not in (None, after))
    return Rehearsal(
        outcome.watch.changes,
        after if before is None else before,
        after,
        outcome.base,
        ledger,
        outcome.reply,
        frozenset(outcome.watch.processes),
    )


def places(changes: list[Change], *, by_whole_path: bool = False) -> dict[int, tuple[str, str]]:
    """Map each change to its place: the call before it and its own. Numbers in names make no other place.

    Neither do the folders above a file's own folder, unless the whole path is asked for.
    """
    paths = [change.path if by_whole_path else "/".join(change.path.split("/")[-2:]) for change in changes]
    calls = [f"{change.call} {_numberless(path)}" for change, path in zip(changes, paths, strict=True)]
    return {change.ordinal: (before, now) for change, before, now in zip(changes, ["", *calls], calls, strict=False)}


def first_of_each(changes: list[Change]) -> list[Change]:
    """The first change at each place, in order; answers do not count."""
    kinds = places(changes)
    first = {kinds[change.ordinal]: change for change in reversed(changes) if change.path != ANSWER}
    return sorted(first.values(), key=lambda change: change.ordinal)


def turns(changes: list[Change]) -> list[Change]:
    """Each change that is not like the one before it. The owner of its folder is the agent that it meets."""
    kinds = places(changes, by_whole_path=True)
    steps = [change for change in changes if change.path != ANSWER]
    return steps[:1] + [now for before, now in itertools.pairwise(steps) if kinds[now.ordinal] != kinds[before.ordinal]]


def _numberless(path: str) -> str:
    return re.sub(r"[0-9a-f]{6,}|[0-9]+", "#", path)


def _is_named(watch: Watch) -> bool:
    """Did a process write its number into the store, as a holder of locks does? Others may ask whether it lives."""
    numbers = [str(process).encode() for process in watch.processes]
    return any(number in step.data or number in os.fsencode(step.path) for step in watch.tape for number in numbers)


@contextlib.contextmanager
def living() -> Iterator[int]:
    """The number of a process that only lives, and ends with the kit."""
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as process:
        try:
            yield process.pid
        finally:
            process.kill()


def named_anew(left: Image, processes: Iterable[int], heir: int) -> Image:
    """The image with the heir's number in place of each of theirs, in links and in the texts of small files."""
    numbers = "|".join(map(str, processes)).encode() or b"(?!)"
    number = re.compile(rb"(?<![0-9A-Za-z])(?:" + numbers + rb")(?![0-9A-Za-z])")

    def anew(text: bytes) -> bytes:
        return number.sub(str(heir).encode(), text) if len(text) <= NAMES_BYTES_MAX else text

    files = {path: anew(data) for path, data in left.files.items()}
    links = {path: os.fsdecode(anew(os.fsencode(target))) for path, target in left.links.items()}
    return replace(left, files=files, links=links)
