"""Holds: a process stands still at a change or a lock, a peer works, then it goes on. Schedules, not luck.

An operation is played by a victim. At each change that it makes to the store, and at each lock that it takes or gives
back, it is held; a peer makes a call to its end, or until it waits for something that the victim has; then the victim
goes on. That is every interleaving of the two with one preemption, on any program.

No pair of calls needs rules of its own. The two orders in which nobody is held are played first: what is found after
them, and what each was told, is all that may be found and told here, whoever stood still and where.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import platform
import random
import shutil
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from buschaos import reading
from buschaos.inspector import Inspector
from buschaos.limits import LEAST_S, Time
from buschaos.nemeses import bpf
from buschaos.nemeses.syscalls import ANSWER, Change, Continue, Hold, Verdict, watched_child
from buschaos.operations import WHEN_MS, Operation, applicable, prepare_store, tell_time
from buschaos.stage import Ground, Victims
from buschaos.state import Evidence, Problem, difference, short, tables
from buschaos.subjects import SUBJECTS
from buschaos.subjects.base import PeerCall, Subject
from busproof.adapters.base import Door, DoorError, Refused
from busproof.fleet import Fleet
from busproof.history import Event, Recorder, merged, read, write
from busproof.protocol import HelloReply
from busproof.scratch import ROOM_OF_FEW_BYTES, scratch
from busproof.session import Session

_VICTIM, _PEER, _WITNESS = 2, 3, 4
POINTS_OF_PAIR = 40  # of one operation and one peer's call; more are drawn by the seed
LIMIT_S = 120.0  # a call that ends is over long before: doors have limits of their own
SLICE_S = 0.002
WAITS = ("nanosleep", "clock_nanosleep", "fcntl", "flock")  # what a process does that waits for another
_WAIT_NUMBERS = {"x86_64": {35, 230, 72, 73}, "aarch64": {101, 115, 25, 32}}


@dataclass(frozen=True)
class Ending:
    """What came of two calls: what is found, and what each was told."""

    found: dict[str, Any]
    told: tuple[Any, Any]  # the victim, the peer


@dataclass
class PairResult:
    """All points of one operation against one call of a peer."""

    operation: Operation
    peer: PeerCall
    points: int = 0
    waited: int = 0  # points at which the peer could not go on
    longest_ms: int = 0  # that it was kept waiting after the victim had gone on
    left_out: int = 0  # points for which there was no time
    problems: list[tuple[Problem, Path]] = field(default_factory=list)


class Holds:
    """Plays pairs; the victims are processes of the fleet's first bus. `tell` hears of each point's problems."""

    def __init__(
        self,
        fleet: Fleet,
        out: Path,
        *,
        judge: Callable[[list[Event]], list[Problem]] = lambda _: [],
        operations: tuple[Operation, ...] | None = None,
        points: int = POINTS_OF_PAIR,
        seed: int = 0,
        time: Time | None = None,
        tell: Callable[[list[tuple[Problem, Path]]], None] = lambda _: None,
    ) -> None:
        self._fleet, self._out, self._judge = fleet, out, judge
        self._time, self._tell = time or Time(), tell
        self.left_out = 0  # pairs for which there was no time
        self._points, self._seed = points, seed
        self._subject = SUBJECTS[fleet.system]
        every = self._subject.operations if operations is None else operations
        self._operations = [op for op in every if is_playable(op, fleet.hello)]
        self._numbers = itertools.count()

    def run(self) -> Iterator[PairResult]:
        """One result a pair, as they come."""
        with (
            scratch("holds", room_bytes=ROOM_OF_FEW_BYTES) as work,
            Inspector(self._fleet.system) as inspector,
            contextlib.closing(
                Victims(self._fleet.specs[0], self._fleet.system, start_ahead=False, also=bpf.LOCKS)
            ) as victims,
        ):
            history = work / "prepared.jsonl"
            prepared = prepare_store(self._fleet, work / "prepared", history, self._subject.prepare)
            ids = {promise.id for promise in self._subject.promises(read(history))}
            ground = Ground(self._subject, self._fleet, victims, inspector, work / "prepared", history, prepared, ids)
            pairs = pairs_of(self._subject, self._operations, self._fleet.hello)
            for number, (operation, peer) in enumerate(self._time.ordered(pairs, f"{self._seed}")):
                if self._time.is_over:
                    self.left_out = len(pairs) - number
                    break
                time = self._time.part(len(pairs) - number, LEAST_S)
                yield self._pair(ground, operation, peer, work, time)

    def _pair(self, ground: Ground, operation: Operation, peer: PeerCall, work: Path, time: Time) -> PairResult:
        result = PairResult(operation, peer)

        def play(ordinal: int, first: str = "victim") -> tuple[Ending, _Duet]:
            duet = _Duet(ground, operation, peer, work / f"duet-{next(self._numbers)}")
            try:
                return duet.play(ordinal, first), duet
            except BaseException:
                duet.close()
                raise

        endings = []
        changes: list[Change] = []
        for first in ("victim", "peer"):
            ending, duet = play(0, first)
            endings.append(ending)
            changes = changes or duet.changes
            duet.close()
        ordinals = [change.ordinal for change in changes]
        seed = f"{self._seed} {operation.name} {peer.name}"
        if len(ordinals) > self._points:
            ordinals = sorted(random.Random(seed).sample(ordinals, self._points))
        for number, ordinal in enumerate(time.ordered(ordinals, seed)):
            if time.is_over:
                result.left_out = len(ordinals) - number
                break
            try:
                ending, duet = play(ordinal)
            except DoorError as error:
                told = f"{operation.name} held against {peer.name} ended in: {error}"
                self._found(result, [(Problem("log", told), work)])
                continue
            result.points += 1
            result.waited += duet.peer_waited
            result.longest_ms = max(result.longest_ms, duet.waited_ms)
            try:
                problems = [*_odd(operation, peer, ending, endings), *duet.judge(), *self._judge(duet.events())]
            except DoorError as error:
                problems = [Problem("log", f"afterwards the store cannot be worked on: {error}")]
            shown = []
            if problems:
                where = f"{operation.name} held before {duet.held}, {peer.name} {duet.drawn()}"
                kept = duet.keep(self._out / "holds" / duet.folder.name, where)
                shown = [(replace(p, point=where), kept / "history.jsonl") for p in problems]
            duet.close()
            self._found(result, shown)
        return result

    def _found(self, result: PairResult, shown: list[tuple[Problem, Path]]) -> None:
        result.problems += shown
        self._tell(shown)


def is_playable(operation: Operation, hello: HelloReply) -> bool:
    """Can a process that has its store open be held in it?"""
    is_session = operation.method in ("open", "close") or operation.empty_store
    return applicable(operation, hello) and not is_session


def pairs_of(subject: Subject, operations: Iterable[Operation], hello: HelloReply) -> list[tuple[Operation, PeerCall]]:
    """Who is held against what. Nothing is held against nothing, and no deadline is over for the peer alone.

    An operation for which nobody thought of a peer has itself, called by another process.
    """
    declared = {*hello.nouns, *hello.features, *(["clock"] if hello.clock == "manual" else [])}
    pairs = []
    for operation in operations:
        named = [peer for peer in subject.peers if set(peer.needs) <= declared and operation.name in peer.against]
        itself = PeerCall("the same by another", operation.method, operation.params, (operation.name,))
        late = [
            replace(peer, name=f"{peer.name}, which is over for both", are_both_late=True)
            for peer in named
            if peer.later_ms > 0
        ]
        pairs += [(operation, peer) for peer in (*(named or [itself]), *late)]
    return pairs


def _odd(operation: Operation, peer: PeerCall, ending: Ending, serial: list[Ending]) -> Iterator[Problem]:
    """Is it what one of the two orders gives?"""
    if any(ending.told == one.told and tables(ending.found) == tables(one.found) for one in serial):
        return
    told = [one for one in serial if one.told == ending.told]
    if not told:
        both = f"{short(ending.told[0])} and {short(ending.told[1])}"
        yield Problem(operation.noun, f"{operation.name} and {peer.name} were told {both}, as in neither order")
        return
    yield Problem(
        operation.noun,
        f"{operation.name} and {peer.name} leave what neither order leaves: {difference(told[0].found, ending.found)}",
    )


class _Duet:
    """A victim and a peer on one copy of the prepared store."""

    def __init__(self, ground: Ground, operation: Operation, peer: PeerCall, folder: Path) -> None:
        self._ground, self._operation, self._peer, self.folder = ground, operation, peer, folder
        folder.mkdir()
        self._store = folder / "store"
        shutil.copytree(ground.template, self._store)
        # The run's name is that of the preparation: one history, in which a token must rise over both.
        self._recorder = Recorder(folder / "duet.jsonl", run="points", system=ground.fleet.system)
        self.changes: list[Change] = []
        self.held: Change | None = None
        self.peer_waited = False
        self.waited_ms = 0
        self._sessions: list[Session] = []
        self._witness: Session | None = None
        self._reply: Any = None  # the victim's
        self._events: list[Event] | None = None
        self._params = operation.params(ground.prepared)
        calls = [(peer.method, peer.params), *([peer.then] if peer.then is not None else [])]
        self._peers_calls = [(method, params(ground.prepared)) for method, params in calls]
        self._ids = ground.ids.union(
            *(ground.subject.ids(*call) for call in [(operation.method, self._params), *self._peers_calls])
        )

    def play(self, ordinal: int, first: str) -> Ending:
        """The victim is held at this change, and the peer works; at 0 they come one after the other."""
        late_ms = WHEN_MS + self._peer.later_ms
        victims_ms = late_ms if self._peer.are_both_late else WHEN_MS
        door, is_first = self._ground.victims.take(), self._operation.is_first
        victim = self._come(door, _VICTIM, "alice", victims_ms, is_victim=True, is_nobody=is_first)
        peer = self._come(self._door(), _PEER, self._peer.agent, late_ms, is_nobody=self._peer.then is not None)
        hold = Hold()
        stands = threading.Event()

        def decide(change: Change) -> Verdict:
            if change.ordinal != ordinal:
                return Continue()
            self.held = change
            stands.set()
            return hold

        told: dict[str, Any] = {}
        with watched_child(victim.door).watched(self._store, decide, answers=True) as watch:
            victims_calls = [(self._operation.method, self._params)]
            call_victim = threading.Thread(target=_call, args=(told, "victim", victim, victims_calls))
            call_peer = threading.Thread(target=_call, args=(told, "peer", peer, self._peers_calls))
            if ordinal == 0:
                for one in (call_victim, call_peer) if first == "victim" else (call_peer, call_victim):
                    one.start()
                    one.join(LIMIT_S)
            else:
                call_victim.start()
                _until(lambda: stands.is_set() or not call_victim.is_alive())
                call_peer.start()
                _until(lambda: not call_peer.is_alive() or self._is_waiting(peer.door))
                self.peer_waited = call_peer.is_alive()
                began = time.monotonic()
                hold.released.set()
                call_victim.join(LIMIT_S)
                call_peer.join(LIMIT_S)
                self.waited_ms = round(1000 * (time.monotonic() - began)) if self.peer_waited else 0
            hold.released.set()
            self.changes = [change for change in watch.changes if change.path != ANSWER]
        for name in ("victim", "peer"):
            if isinstance(told.get(name), DoorError) and not isinstance(told[name], Refused):
                raise told[name]
        self._reply = told.get("victim")
        return Ending(self._look(), (self._plain(told.get("victim")), self._plain(told.get("peer"))))

    def _is_waiting(self, door: Door) -> bool:
        """Does the peer sleep, or wait for a lock? Looked at twice: a nap between two attempts is waiting, too."""
        numbers = _WAIT_NUMBERS[platform.machine()]
        pid = door.pid
        assert pid is not None

        def sleeps() -> bool:
            for task in Path(f"/proc/{pid}/task").glob("*"):
                with contextlib.suppress(OSError, ValueError):
                    told = (task / "syscall").read_text(encoding="ascii").split(" ", 1)[0]
                    if told.isdigit() and int(told) in numbers:
                        return True
            return False

        if not sleeps():
            return False
        time.sleep(SLICE_S)
        return sleeps()

    def _plain(self, reply: Any) -> Any:
        """What an answer says, without what may differ from run to run: numbers, times, and ids that the bus chose."""
        if isinstance(reply, Refused):
            return {"code": reply.code}
        if isinstance(reply, dict):
            return {name: self._plain(value) for name, value in reply.items() if not name.endswith("_at")}
        if isinstance(reply, list):
            return [self._plain(value) for value in reply]
        if isinstance(reply, str):
            return reply if reply in self._ids else "*"
        return reply if reply is None or isinstance(reply, bool) else "#"

    # -- who comes, and what is found

    def _door(self) -> Door:
        return self._ground.fleet.door(1, self._store, dict(self._operation.options))

    def _come(
        self, door: Door, number: int, agent: str, now_ms: int, *, is_victim: bool = False, is_nobody: bool = False
    ) -> Session:
        if is_victim:
            door.call("open", {"store": str(self._store), "options": dict(self._operation.options)})
        session = Session(door, self._recorder, process=number, agent=agent)
        self._sessions.append(session)
        tell_time(session, self._ground.fleet.hello, now_ms)
        enter = self._ground.subject.enter
        if enter is not None and not is_nobody:
            enter(session, self._ground.prepared)
        return session

    def _look(self) -> dict[str, Any]:
        if self._ground.subject.read is None:
            self._witness = self._come(self._door(), _WITNESS, "bob", WHEN_MS)
        dump = self._dump()
        return self._ground.subject.comparable(dump, self._ids, self._ground.fleet.hello.clock)

    def _dump(self) -> dict[str, Any]:
        """By a process that was not there, or from outside; that is only recorded as the peer's."""
        witness = self._witness or self._sessions[-1]
        return reading.dump(witness, self._store, self._ground.fleet.hello, self._ground.subject)

    def judge(self) -> list[Problem]:
        """What must be true whatever the order; the victim goes on first, for what it had in mind may be old by now."""
        subject, victim = self._ground.subject, self._sessions[0]
        hello = self._ground.fleet.hello
        for epilogue in subject.epilogue:
            if set(epilogue.needs) <= {*hello.nouns, *hello.features}:
                victim.call(epilogue.method, **epilogue.params)
        exported = subject.export is not None and "export" in self._ground.fleet.hello.nouns
        if exported and subject.export is not None:
            (self._witness or victim).call(subject.export)
        dump = self._dump()
        confirm, wrong = self._operation.confirm, ""
        if confirm is not None and isinstance(self._reply, dict):
            wrong = confirm(self._witness or victim, self._params, self._reply)
        self._recorder.close()
        promises = subject.promises(self.events())
        found = subject.problems(Evidence(dump, self._ground.inspector.look(self._store), promises, exported))
        return [*found, *([Problem(self._operation.noun, f"{self._operation.name} {wrong}")] if wrong else [])]

    def drawn(self) -> str:
        """The schedule, for a reader."""
        return "waited, and went on after it" if self.peer_waited else "worked meanwhile, then it went on"

    def events(self) -> list[Event]:
        """Everything that was recorded, preparation included."""
        if self._events is None:
            self._events = list(merged(map(iter, [self._ground.events, list(read(self._recorder.path))])))
        return self._events

    def keep(self, kept: Path, title: str) -> Path:
        """Save store and history as evidence."""
        with contextlib.suppress(ValueError):  # closed already
            self._recorder.close()
        write(self.events(), self.folder / "history.jsonl")
        shutil.rmtree(kept, ignore_errors=True)
        shutil.copytree(self.folder, kept)
        (kept / "point.txt").write_text(title + "\n", encoding="utf-8")
        return kept

    def close(self) -> None:
        """Give the processes back, remove the folder."""
        victim, *others = self._sessions
        self._ground.victims.give_back(victim.door)
        for session in others:
            self._ground.fleet.give_back(session.door, retired=session.retired)
        with contextlib.suppress(ValueError):  # closed already
            self._recorder.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def _call(told: dict[str, Any], name: str, session: Session, calls: list[tuple[str, dict[str, Any]]]) -> None:
    """The last answer, or the first that is an error."""
    try:
        for method, params in calls:
            told[name] = session.call(method, **json.loads(json.dumps(params)))
    except Refused as error:
        told[name] = error
    except DoorError as error:
        told[name] = error


def _until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LIMIT_S
    while not is_so() and time.monotonic() < deadline:
        time.sleep(SLICE_S)
