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
from typing import Any

from buschaos import state
from buschaos.bus import argv_of
from buschaos.inspector import Inspector
from buschaos.nemeses.syscalls import Change, Continue, Fail, Kill, Torn, Verdict, WatchedDoor
from buschaos.operations import OPERATIONS, WHEN_MS, Operation, Prepared, applicable, prepare, tell_time
from buschaos.state import Evidence, Problem
from busproof.adapters.base import Door, DoorError, Lost, Refused
from busproof.fleet import Fleet
from busproof.history import Recorder, merge, read
from busproof.session import Session

SAVED = "state.json"
_NO_SPACE_CALLS = (
    "write",
    "pwrite64",
    "writev",
    "pwritev",
    "pwritev2",
    "openat",
    "open",
    "creat",
    "ftruncate",
)
_VICTIM, _SURVIVOR = 2, 3  # process numbers in a point's history; 0 and 1 prepared the store


@dataclass(frozen=True)
class Point:
    """One fault at one change of one operation. `change` None: SIGKILL right after the answer."""

    change: Change | None
    verdict: Verdict

    def __str__(self) -> str:
        if self.change is None:
            return "killed after the answer"
        match self.verdict:
            case Torn(size):
                return f"killed after {size} bytes of {self.change}"
            case Fail(number):
                return f"{errno.errorcode[number]} at {self.change}"
            case _:
                return f"killed before {self.change}"


@dataclass
class PointResult:
    """What a point showed; `kept` is the folder with its store and history if it showed a problem."""

    operation: Operation
    point: Point
    problems: list[Problem]
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


@dataclass
class _Outcome:
    """How the victim's call ended."""

    answered: bool
    refused: Refused | None = None


class CrashPoints:
    """Plays all points of all operations on one bus.

    `judge` turns a point's history into problems; `torn` are the sizes at which a write of n bytes is cut.
    """

    def __init__(
        self,
        fleet: Fleet,
        out: Path,
        *,
        judge: Callable[[Path], list[Problem]] = lambda _: [],
        kills: bool = True,
        torn: Callable[[int], set[int]] | None = None,
        errors: tuple[int, ...] = (),
        operations: tuple[Operation, ...] = OPERATIONS,
    ) -> None:
        self._fleet, self._out, self._judge, self._errors = fleet, out, judge, errors
        self._kills, self._torn = kills, torn or cuts
        self._operations = [op for op in operations if applicable(op, fleet.hello)]
        self._argv = argv_of(fleet.specs[0])
        self._work = Path(tempfile.mkdtemp(prefix="busproof-points-"))
        self._numbers = itertools.count()
        self._inspector = Inspector()
        self._starting: WatchedDoor | None = None
        self._alive: list[WatchedDoor] = []

    def run(self) -> Iterator[OperationResult]:
        """One result an operation, as they come."""
        try:
            self._template, self._prepared = self._work / "prepared", self._prepare()
            for operation in self._operations:
                yield self._all_points(operation)
        finally:
            for door in (*self._alive, *filter(None, [self._starting])):
                door.kill()
            self._inspector.close()
            shutil.rmtree(self._work, ignore_errors=True)

    # -- preparing and rehearsing

    def _prepare(self) -> Prepared:
        """Fill the store, then kill: so that each victim finds a write-ahead log to recover."""
        store = self._work / "prepared"
        store.mkdir()
        doors = [self._fleet.door(number, store, {}) for number in range(2)]
        with contextlib.closing(
            Recorder(self._work / "prepared.jsonl", run="points", system="worker")
        ) as recorder:
            alice, bob = (
                Session(door, recorder, process=number, agent=name)
                for number, (door, name) in enumerate(zip(doors, ("alice", "bob"), strict=True))
            )
            prepared = prepare(alice, bob, self._fleet.hello)
        for door in doors:
            self._fleet.give_back(door, retired=True)
        self._promises = state.promises(read(self._work / "prepared.jsonl"))
        self._ids = {promise.id for promise in self._promises}
        return prepared

    def _all_points(self, operation: Operation) -> OperationResult:
        params = operation.params(self._prepared)
        self._known = self._ids | operation.ids(self._prepared)
        changes, before, after = self._rehearse(operation, params)
        result = OperationResult(operation, changes)
        for point in self._points(changes):
            result.points.append(self._play(operation, params, point, before, after))
        return result

    def _points(self, changes: list[Change]) -> Iterator[Point]:
        for change in changes if self._kills else ():
            yield Point(change, Kill())
            for size in sorted(self._torn(change.size or 0)):
                yield Point(change, Torn(size))
        if self._kills:
            yield Point(None, Kill())
        for number in self._errors:
            for change in changes:
                if number != errno.ENOSPC or change.call in _NO_SPACE_CALLS:
                    yield Point(change, Fail(number))

    def _rehearse(
        self, operation: Operation, params: dict[str, Any]
    ) -> tuple[list[Change], dict[str, Any], dict[str, Any]]:
        """The changes that the operation makes, and the states before and after it."""
        with self._stage(operation) as stage:
            before = stage.survivor_state() if not operation.empty_store else None
            stage.give_survivor_back()
            changes, outcome = stage.play(params, None)
            if not outcome.answered:
                raise RuntimeError(f"{operation.name} fails without any nemesis: {outcome.refused}")
            after = stage.survivor_state()
            return changes, before or after, after

    # -- one point

    def _play(
        self,
        operation: Operation,
        params: dict[str, Any],
        point: Point,
        before: dict[str, Any],
        after: dict[str, Any],
    ) -> PointResult:
        with self._stage(operation) as stage:
            problems = stage.judge_point(params, point, before, after)
            if not problems:
                problems = stage.judge_history()
            if not problems:
                return PointResult(operation, point, [])
            return PointResult(operation, point, problems, stage.keep(self._out, point))

    @contextlib.contextmanager
    def _stage(self, operation: Operation) -> Iterator[_Stage]:
        stage = _Stage(self, operation, self._work / f"point-{next(self._numbers)}")
        try:
            yield stage
        finally:
            stage.close()

    def victim(self) -> WatchedDoor:
        """A process that said hello and has no store. One more is started at once, and wakes up meanwhile."""
        if self._alive:
            return self._alive.pop()
        victim = self._starting or WatchedDoor(self._argv)
        self._starting = WatchedDoor(self._argv) if self._kills else None
        victim.call("hello", {"protocol": ["1"], "system": self._fleet.system})
        return victim

    def give_back(self, door: WatchedDoor) -> None:
        """Keep one that lived through its point for the next."""
        try:
            door.call("close", {})
            self._alive.append(door)
        except DoorError:
            door.kill()


class _Stage:
    """One copy of the store, a victim and a survivor."""

    def __init__(self, points: CrashPoints, operation: Operation, folder: Path) -> None:
        self._points, self._operation, self._folder = points, operation, folder
        self._store = folder / "store"
        folder.mkdir()
        if operation.empty_store:
            self._store.mkdir()
        else:
            shutil.copytree(points._template, self._store)
        self._recorder = Recorder(folder / "point.jsonl", run="points", system="worker")
        self._victim: Session | None = None
        self._survivor: Session | None = None

    def judge_point(
        self, params: dict[str, Any], point: Point, before: dict[str, Any], after: dict[str, Any]
    ) -> list[Problem]:
        """Kill, look, try again, look."""
        noun, name = self._operation.noun, self._operation.name
        _, outcome = self.play(params, point)
        try:
            found = self.survivor_state()
        except DoorError as error:
            return [Problem("log", f"a new process cannot work on the store: {error}")]
        problems: list[Problem] = []
        if outcome.answered and found != after:
            problems.append(
                Problem(noun, f"{name} was answered, and is not whole: {state.difference(after, found)}")
            )
        elif outcome.refused is not None and outcome.refused.definite and found != before:
            problems.append(
                Problem(
                    noun,
                    f"{name} was refused as certainly not done ({outcome.refused.code}), and yet: "
                    f"{state.difference(before, found)}",
                )
            )
        elif found not in (before, after):
            problems.append(Problem(noun, f"{name} is half done: {state.difference(before, found)}"))
        return problems or self._again(params, after)

    def _again(self, params: dict[str, Any], after: dict[str, Any]) -> list[Problem]:
        """The same call again, by the victim if it lives and else by the survivor."""
        noun, name = self._operation.noun, self._operation.name
        try:
            reply = self._retry(params)
            found = self.survivor_state()
            if found != after:
                return [Problem(noun, f"{name} again does not complete it: {state.difference(after, found)}")]
            survivor = self._survivor
            assert survivor is not None
            if (
                "ref" in reply
                and survivor.call("load_blob", ref=reply["ref"])["content"] != params["content"]
            ):
                return [Problem("blob", "the blob's content is not what was saved")]
            exported = "export" in self._points._fleet.hello.nouns
            if exported:
                survivor.call("export_to_jsonl")
            dump = survivor.call("dump")
        except DoorError as error:
            return [Problem(noun, f"{name} again: {error}")]
        self._recorder.close()
        facts = self._points._inspector.look(self._store)
        return state.problems(Evidence(dump, facts, self._promises(), exported))

    def _retry(self, params: dict[str, Any]) -> dict[str, Any]:
        method, victim = self._operation.method, self._victim
        if victim is not None and not victim.retired:
            if method in ("open", "close"):
                return victim.door.call("open", {"store": str(self._store), "options": {}})
            try:
                return victim.call(method, **params)
            except Refused:  # an error may spoil a connection for good; a fresh one must do
                victim.door.call("open", {"store": str(self._store), "options": {}})
                self._tell_time(victim)
                return victim.call(method, **params)
        if method in ("open", "close"):
            return {}  # the survivor opened the store already
        assert self._survivor is not None
        return self._survivor.call(method, **params)

    def judge_history(self) -> list[Problem]:
        """The checks on everything that was recorded, preparation included."""
        return self._points._judge(self._whole_history())

    def _whole_history(self) -> Path:
        whole = self._folder / "history.jsonl"
        if not whole.exists():
            parts = [] if self._operation.empty_store else [self._points._work / "prepared.jsonl"]
            merge([*parts, self._recorder.path], whole)
        return whole

    def _promises(self) -> list[state.Promise]:
        return state.promises(read(self._whole_history()))

    # -- the two sessions

    def play(self, params: dict[str, Any], point: Point | None) -> tuple[list[Change], _Outcome]:
        """The victim opens the store and plays the operation; with a point, the fault strikes there."""
        door = self._points.victim()
        self._victim = victim = Session(door, self._recorder, process=_VICTIM, agent="alice")
        if self._operation.method != "open":
            door.call("open", {"store": str(self._store), "options": {}})
            self._tell_time(victim)

        def decide(change: Change) -> Verdict:
            if point is not None and point.change is not None and change.ordinal == point.change.ordinal:
                return _fitting(point.verdict, change)
            return Continue()

        with door.watched(self._store, decide) as watch:
            outcome = self._call(victim, params)
            if point is None or point.change is not None:
                self._settle(victim)
        if watch.fatal is not None or (point is not None and point.change is None):
            victim.retired = True
            door.kill()
            self._recorder.record(
                "nemesis", process=_VICTIM, op="kill", agent="alice", value={"point": str(point)}
            )
        return watch.changes, outcome

    def _call(self, victim: Session, params: dict[str, Any]) -> _Outcome:
        method = self._operation.method
        try:
            if method == "open":
                victim.door.call("open", {"store": str(self._store), "options": {}})
            elif method == "close":
                victim.door.call("close", {})
            else:
                victim.call(method, **params)
        except Refused as error:
            return _Outcome(False, error)
        except Lost:
            victim.retired = True
            return _Outcome(False)
        return _Outcome(True)

    def _settle(self, victim: Session) -> None:
        """A second call: when it is answered, the program has finished what it does after its first answer."""
        if not victim.retired and self._operation.method != "close":
            try:
                victim.call("poll", limit=1)
            except Refused:
                pass
            except Lost:
                victim.retired = True

    def survivor_state(self) -> dict[str, Any]:
        """What a process that was not there finds."""
        if self._survivor is None:
            door: Door = self._points._fleet.door(1, self._store, {})
            self._survivor = Session(door, self._recorder, process=_SURVIVOR, agent="bob")
            self._tell_time(self._survivor)
        dump = self._survivor.call("dump")
        return state.comparable(dump, known_ids=self._points._known, clock=self._points._fleet.hello.clock)

    def give_survivor_back(self) -> None:
        """It leaves the store, so that the victim is alone."""
        if self._survivor is not None:
            self._points._fleet.give_back(self._survivor.door, retired=self._survivor.retired)
            self._survivor = None

    def _tell_time(self, session: Session) -> None:
        tell_time(session, self._points._fleet.hello, WHEN_MS)

    # -- ending

    def keep(self, out: Path, point: Point) -> Path:
        """Save store and history as evidence."""
        with contextlib.suppress(ValueError):
            self._recorder.close()
        self._whole_history()
        kept = (
            out / "points" / f"{self._operation.name.replace(' ', '_')}-{self._folder.name.partition('-')[2]}"
        )
        shutil.rmtree(kept, ignore_errors=True)
        shutil.copytree(self._folder, kept, ignore_dangling_symlinks=True)
        (kept / "point.txt").write_text(f"{self._operation.name}: {point}\n", encoding="utf-8")
        return kept

    def close(self) -> None:
        """Give the survivor back, end the victim, remove the copy."""
        self.give_survivor_back()
        if self._victim is not None:
            assert isinstance(self._victim.door, WatchedDoor)
            if self._victim.retired:
                self._victim.door.kill()
            else:
                self._points.give_back(self._victim.door)
        with contextlib.suppress(ValueError):
            self._recorder.close()
        shutil.rmtree(self._folder, ignore_errors=True)


def cuts(size: int) -> set[int]:
    """Where a write of this size is torn: after its first byte, at a sector, in its middle, before its last byte."""
    return {cut for cut in (1, 512, size // 2, size - 1) if 0 < cut < size}


def _fitting(verdict: Verdict, change: Change) -> Verdict:
    """A tear needs a write that is longer; anything else is a kill."""
    if isinstance(verdict, Torn) and (change.size is None or change.size <= verdict.size):
        return Kill()
    return verdict
