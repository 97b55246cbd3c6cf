"""Callers that go: a call that consumes (`Consumer`) is cancelled, disconnected, or killed with its bus, at each point.

The points are the changes that the call makes to its database, its answer, and the wait for news. At a point the
server stands still in a system call; the caller goes, the server has time to hear of it, and moves on. When it has
ended, the kit itself comes as the same agent and reads. With auto_advance=true it must receive all messages that were
not returned, and none that were; with auto_advance=false, all. Only a kill may take the answer with all that it
consumed (B4).

In one more case the agent goes on elsewhere: its call is cancelled and ends, and before the server gives back what that
call consumed, another session of the same agent receives news. What that one received must not be received again.

One call is played without a nemesis first: it returns all that there is to read.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import shutil
import sqlite3
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from buschaos.limits import Time
from buschaos.nemeses import bpf
from buschaos.nemeses.syscalls import ANSWER, Change, Continue, Kill, Verdict, watched_child
from buschaos.operations import Prepared
from buschaos.stage import Victims
from buschaos.state import Problem, short
from buschaos.subjects import SUBJECTS
from buschaos.tape import image
from busproof.bus.asleep import come_to_rest
from busproof.bus.base import Lost
from busproof.bus.fleet import Fleet
from busproof.bus.mcp import McpDoor
from busproof.bus.session import Session
from busproof.bus.sqlite import SqliteDoor
from busproof.contract.history import Recorder

Way = Literal["cancelled", "disconnected", "killed"]
WHILE_IT_WAITS = -1  # an ordinal
REQUEST = 1_000_000  # the id of the sync, chosen ahead: the server may be at a point before `begin` returns
CASES_FEW, PLACES_FEW = 6, 1  # of a sample, and of each case of it
PAUSE_S = 0.05
HEARING_S = 5.0  # for the server to hear that the caller went, while its call stands still
BY_THE_CLOCK_S = 0.25
GIVING_BACK_S = 1.0
ENDING_S = 30.0
LATER_MAX = 24  # a server asks for a lock some ten times in a transaction


@dataclass(frozen=True)
class Case:
    """One sync, and how its caller goes."""

    waits: bool
    auto_advance: bool
    way: Way
    has_successor: bool = False  # of the same agent, before what the call consumed is given back

    def __str__(self) -> str:
        kind = "a sync that waits" if self.waits else "a sync with news"
        then = ", and its agent goes on elsewhere" if self.has_successor else ""
        return f"{kind}, auto_advance={'true' if self.auto_advance else 'false'}, {self.way}{then}"


CASES = (
    *(Case(waits, moves, way) for waits in (False, True) for moves in (True, False) for way in get_args(Way)),
    Case(waits=False, auto_advance=True, way="cancelled", has_successor=True),
)


@dataclass
class CaseResult:
    """All points of a case; each problem with its history."""

    case: Case
    points: int = 0
    left_out: int = 0  # points, as the time was over
    spared: int = 0  # points that a sample does without
    problems: list[tuple[Problem, Path]] = field(default_factory=list)


@dataclass
class Played:
    """One sync and its end."""

    changes: list[Change]
    struck: str | None  # the point at which the caller went
    returned: list[int]  # seqs
    left: list[int]  # the seqs that another session of the same agent received then
    has_ended: bool
    successors: list[int]  # the seqs that such a session received before that


class GoneCallers:
    """Plays cases on a fleet's first bus."""

    def __init__(self, fleet: Fleet, out: Path, cases: tuple[Case, ...] = CASES, limit: Time | None = None) -> None:
        self._fleet, self._out, self._cases, self._limit = fleet, out, cases, limit or Time()
        self._subject = SUBJECTS[fleet.system]
        self.spared = 0  # cases that a sample does without

    def run(self) -> Iterator[CaseResult]:
        """Yield one result per case, as they come."""
        with tempfile.TemporaryDirectory(prefix="busproof-gone-") as folder, contextlib.ExitStack() as stack:
            work = Path(folder)
            prepared = self._subject.fill_store(self._fleet, work / "prepared", work / "prepared.jsonl")
            victims: dict[bool, Victims] = {}  # those whose locks are places, too, and the others
            cases = self._limit.ordered(self._cases, "cases", lambda case: (case.auto_advance, case.way), few=CASES_FEW)
            self.spared = len(self._cases) - len(cases)
            for number, case in enumerate(cases):
                if case.has_successor not in victims:
                    victims[case.has_successor] = stack.enter_context(self._victims(case))
                part = self._limit.part(len(cases) - number)
                yield self._all_points(case, prepared, victims[case.has_successor], work, part)

    def _victims(self, case: Case) -> contextlib.closing[Victims]:
        also = bpf.LOCKS if case.has_successor else ()
        return contextlib.closing(
            Victims(self._fleet.specs[0], self._fleet.system, start_ahead=not case.has_successor, also=also)
        )

    def _all_points(self, case: Case, prepared: Prepared, victims: Victims, work: Path, limit: Time) -> CaseResult:
        result = CaseResult(case)
        unread: list[int] = []
        places = [(0, 0)]
        for ordinal, later in places:  # at 0 nobody goes: the sync is answered, and shows which points there are
            with contextlib.closing(_Point(self._fleet.system, case, prepared, victims, work / "point")) as point:
                played = point.play(ordinal, later)
                if ordinal == 0:
                    unread = played.returned
                    every = _places(case, played.changes)
                    places += [(place, 0) for place in limit.ordered(every, str(case), few=PLACES_FEW)]
                    result.spared = len(every) + 1 - len(places)
                elif played.successors and later < LATER_MAX:
                    places.append((ordinal, later + 1))
                result.points += 1
                for why in _wrong(case, unread, played):
                    kept = point.keep(self._out / "gone" / f"{self._cases.index(case)}-at-{ordinal}-{later}")
                    problem = Problem("cursor", why, point=f"{case} {played.struck or 'never'}")
                    result.problems.append((problem, kept / "history.jsonl"))
            if limit.is_over:
                result.left_out = len(places) - result.points
                break
        return result


def _places(case: Case, changes: list[Change]) -> list[int]:
    """Each change, and its wait. A successor needs one place: the last change before the answer."""
    if not case.has_successor:
        return [*range(1, 1 + len(changes)), *([WHILE_IT_WAITS] if case.waits else [])]
    before = itertools.takewhile(lambda change: change.path != ANSWER, changes)
    return [change.ordinal for change in before if change.call not in bpf.LOCKS][-1:]


def _wrong(case: Case, unread: list[int], played: Played) -> Iterator[str]:
    """If the cursor moves by itself, the returned messages are consumed; all others must still be there."""
    if not played.has_ended:
        yield f"the server still runs {ENDING_S:g} s after its client closed the connection"
    if played.successors:
        if doubled := [seq for seq in played.left if seq in (*played.successors, *played.returned)]:
            yield f"doubled: another session received {short(doubled)} meanwhile, and they are received again"
        return
    consumed = played.returned if case.auto_advance else []
    if case.way == "killed" and case.auto_advance and not played.left:
        consumed = unread
    expected = [seq for seq in unread if seq not in consumed]
    if lost := [seq for seq in expected if seq not in played.left]:
        yield f"lost: {short(lost)} was not returned, and is not received again"
    if doubled := [seq for seq in played.left if seq not in expected]:
        yield f"doubled: {short(doubled)} was returned and consumed, and is received again"
    if not unread:
        yield "a sync without a nemesis returns nothing"


class _Point:
    """One server on a copy of the prepared store, and the caller that goes."""

    def __init__(self, system: str, case: Case, prepared: Prepared, victims: Victims, folder: Path) -> None:
        subject = SUBJECTS[system]
        assert subject.consumer is not None
        assert subject.enter is not None
        self._system, self._case, self._prepared = system, case, prepared
        self._consumer, self._enter = subject.consumer, subject.enter
        self._folder, self._store = folder, folder / "store"
        image.copy(folder.parent / "prepared", self._store)
        self._recorder = Recorder(folder / "history.jsonl", run="gone", system=system)
        door = victims.take()
        assert isinstance(door, McpDoor)
        self._door = door
        self._child = watched_child(door)
        self._victim = Session(door, self._recorder, process=2, agent="alice")
        self._kit = self._come(3, "kit")
        self._consumer.join(self._kit, prepared)
        self._ordinal = self._later = 0
        self._gone = threading.Event()
        self._struck: str | None = None
        self._heard: list[Any] = []
        self._before = (0, 0.0)
        self._successors: list[int] | None = None

    def _come(self, process: int, agent: str) -> Session:
        """A session of the kit itself."""
        door = SqliteDoor()
        door.call("hello", {"protocol": ["1"], "system": self._system})
        door.call("open", {"store": str(self._store), "options": {}})
        return Session(door, self._recorder, process=process, agent=agent)

    def play(self, ordinal: int, later: int) -> Played:
        """Play the sync, the going and the end of the server, and read the rest.

        A successor passes over so many places at which it could come.
        """
        self._ordinal, self._later = ordinal, later
        self._door.call("open", {"store": str(self._store)})
        self._enter(self._victim, self._prepared)
        if self._case.waits:
            self._consumer.drain(self._victim, self._prepared)
        self._before = self._place()
        with self._child.watched(self._store, self._decide, answers=True) as watch:
            self._consume()
        if self._case.way == "cancelled" and self._gone.is_set():
            self._let_it_give_back()
        self._child.end_input()
        has_ended = self._hear_to_the_end()
        self._door.kill()
        returned = self._returned()
        self._recorder.record("nemesis", process=2, op="returned", value={"seqs": returned})
        fresh = self._come(4, "alice")
        self._enter(fresh, self._prepared)
        left = self._consumer.drain(fresh, self._prepared)
        fresh.door.close()
        self._recorder.close()
        return Played(watch.changes, self._struck, returned, left, has_ended, self._successors or [])

    def _consume(self) -> None:
        """Ask, let news come if it waits for some, and listen until there is an answer or the caller went."""
        method = self._consumer.method
        how = self._consumer.params(self._prepared, self._case.waits, self._case.auto_advance)
        self._recorder.record("invoke", process=2, op=method, agent="alice", value=how)
        self._door.begin(method, how, id_=REQUEST)
        if self._case.waits:
            _until(lambda: self._place() != self._before or self._is_killed)  # every such call touches it
            if self._ordinal == WHILE_IT_WAITS:
                self._go("while it waits")
                if self._case.way == "killed":
                    self._door.kill()
            self._consumer.send(self._kit, self._prepared)
        _until(lambda: self._hear(0.01) or self._gone.is_set())
        if self._case.has_successor and self._gone.is_set():
            # The call goes on under the supervisor to the place of its successor. One of the first places always comes.
            limit_s = ENDING_S if self._later <= 0 else GIVING_BACK_S
            _until(self._has_come, limit_s)

    def _decide(self, change: Change) -> Verdict:
        if self._case.has_successor and self._gone.is_set() and self._successors is None and self._is_unlocked():
            if self._later == 0:
                self._successors = self._goes_on_elsewhere()
            self._later -= 1
        if change.ordinal != self._ordinal:
            return Continue()
        self._go(f"before {change}")
        return Kill() if self._case.way == "killed" else Continue()

    def _go(self, where: str) -> None:
        self._struck = f"{self._case.way} {where}"
        self._recorder.record("nemesis", process=2, op=self._case.way, agent="alice", value={"when": where})
        match self._case.way:
            case "cancelled":
                self._door.cancel(REQUEST)
            case "disconnected":
                self._child.end_input()
        time.sleep(PAUSE_S)
        come_to_rest(self._child.processes(), time.monotonic() + HEARING_S)
        # A server may look at its input by the clock; one of a single thread looks once its call goes on.
        _until(lambda: not self._child.unread_bytes, BY_THE_CLOCK_S)
        self._gone.set()

    def _let_it_give_back(self) -> None:
        """Before the connection closes: a cancel alone must do it. The kit's write comes after the held call."""
        self._consumer.drain(self._kit, self._prepared)
        time.sleep(PAUSE_S if self._case.waits else 0)
        if self._case.auto_advance:
            _until(lambda: self._hear(0.01) or self._place()[0] == self._before[0], GIVING_BACK_S)

    def _is_unlocked(self) -> bool:
        """Has the call's transaction ended, so that others may write?"""
        with contextlib.closing(
            sqlite3.connect(self._store / self._consumer.database, timeout=0, isolation_level=None)
        ) as connection:
            try:
                connection.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError:
                return False
        return True

    def _goes_on_elsewhere(self) -> list[int]:
        """News come, and another session of the same agent receives them. In a thread of the supervisor's."""
        sender, successor = self._come(5, "courier"), self._come(6, "alice")
        try:
            self._consumer.join(sender, self._prepared)
            self._consumer.send(sender, self._prepared)
            self._enter(successor, self._prepared)
            return self._consumer.drain(successor, self._prepared)
        finally:
            sender.door.close()
            successor.door.close()

    def _has_come(self) -> bool:
        """The successor. What the server says meanwhile is read."""
        self._hear(0.01)
        return self._successors is not None

    # -- the facts

    @property
    def _is_killed(self) -> bool:
        return self._case.way == "killed" and self._gone.is_set()

    def _hear(self, timeout_s: float) -> bool:
        """Read one more line of the server, if there is one."""
        with contextlib.suppress(Lost):
            self._heard.append(json.loads(self._child.read_line(self._consumer.method, timeout_s)))
            return True
        return False

    def _hear_to_the_end(self) -> bool:
        _until(lambda: not self._hear(0.1) and self._child.has_ended)
        return self._child.has_ended

    def _returned(self) -> list[int]:
        """The seqs in the answer to the sync, if one came."""
        results = [line.get("result", {}) for line in self._heard if line.get("id") == REQUEST]
        return [seq for result in results for seq in self._consumer.seqs(result.get("structuredContent") or {})]

    def _place(self) -> tuple[int, float]:
        return self._consumer.place(self._store, self._prepared)

    def keep(self, kept: Path) -> Path:
        """Save store and history as evidence."""
        shutil.rmtree(kept, ignore_errors=True)
        image.copy(self._folder, kept)
        return kept

    def close(self) -> None:
        """End everything that still runs."""
        self._door.kill()
        self._kit.door.close()
        with contextlib.suppress(ValueError):  # closed already
            self._recorder.close()
        shutil.rmtree(self._folder)


def _until(is_so: Callable[[], bool], limit_s: float = ENDING_S) -> None:
    deadline = time.monotonic() + limit_s
    while not is_so() and time.monotonic() < deadline:
        time.sleep(0.001)
