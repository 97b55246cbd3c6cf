"""Two processes on one store: a victim that stands still in an operation, and a peer that works meanwhile.

One preemption: the victim is held at a change, the peer makes its call to the end or until it waits, and the victim
goes on. Two: the peer is held at a change, too, the victim goes on to its end or until it waits, and then the peer
does. The second is needed to find two processes that both saw a lock stale and both break it. Or the victim is held
twice: about to take a lock, while the peer takes it and gives it back, and again when it has the lock, while the peer
wants it anew: is it still the same lock?

Time may pass for both while the victim stands still: a program that asked for the time before it had the lock goes by
the old one. Only a clock that is set from outside can pass in the middle of a call.

A peer whose clock is ahead may take over from a victim that holds something. The victim then goes on with the time
moved, and makes the calls of a holder that knows of nothing (`PeerCall.late`): they must be refused, or have no effect.
"""

from __future__ import annotations

import contextlib
import json
import platform
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from buschaos import reading
from buschaos.nemeses.syscalls import ANSWER, Change, Continue, Hold, Verdict, Watch, watched_child
from buschaos.operations import WAITS_S, WHEN_MS, Operation, Prepared, tell_time
from buschaos.points import Place
from buschaos.stage import SESSION_METHODS, Ground, Victims
from buschaos.state import Evidence, Problem, difference
from buschaos.subjects.base import PeerCall
from buschaos.tape import image
from busproof.bus.base import Door, DoorError, Refused, patient
from busproof.bus.session import Session
from busproof.contract.history import Event, Recorder, merged, read, write

Order = Literal["victim", "between", "peer", "meanwhile", "late"]
ORDERS: tuple[Order, ...] = ("victim", "between", "peer")  # the first to call; between: before later calls
WAKING: tuple[Order, ...] = ("meanwhile", "peer")  # for a victim that waits for the peer's call: when that is made
PASSING: tuple[Order, ...] = ("victim", "peer", "late")  # when time passes; late: before the victim, which is first
_CALLERS = ("victim", "peer", "later")
_VICTIM, _PEER, _WITNESS = 4, 5, 6  # processes of the history; 0 to 3 were there before (`stage`)
LIMIT_S = 120.0  # a call that ends at all is over long before: doors have limits of their own
SLICE_S = 0.002
STAND_S = 10.0  # no process is held longer for another: its caller would give it up, through no fault of its own
ATTEMPT = 4  # calls at most, in an attempt that is made again and again
CIRCLE = 24  # calls that only repeat themselves; a program that makes its folders before each step has a dozen
IDLE_S = 0.3  # a process that sleeps so long without a break, in any call, waits for another
# The calls of a process that waits for another: nanosleep, clock_nanosleep, fcntl, flock.
_WAIT_NUMBERS = {"x86_64": {35, 230, 72, 73}, "aarch64": {101, 115, 25, 32}}


@dataclass(frozen=True)
class Ending:
    """The outcome of two calls: the state that is found, and the answer that each got."""

    found: dict[str, Any]
    told: tuple[Any, ...]  # the victim, the peer, and the peer later


class Duet:
    """A victim and a peer on one copy of the prepared store. `peers` are processes that can be held, too."""

    def __init__(self, ground: Ground, peers: Victims, operation: Operation, peer: PeerCall, folder: Path) -> None:
        self._ground, self._peers, self._operation, self._peer = ground, peers, operation, peer
        self.folder = folder
        folder.mkdir()
        self._store = folder / "store"
        image.copy(ground.template, self._store)
        # The run has the name of the preparation: they are one history, and a token must rise over both.
        self._recorder = Recorder(folder / "duet.jsonl", run="points", system=ground.fleet.system)
        self.changes: list[Change] = []  # of the victim
        self.reached: list[int] = []  # the peer's changes until it ended or waited
        self.held: Change | None = None
        self.peers_held: Change | None = None
        self.peer_waited = False
        self.stood_too_long = False  # one of them: a caller that got no answer gave it up because of us
        self.waited_ms = 0
        self._began_s = self._let_go_s = self._stirred_s = 0.0
        self._sessions: list[Session] = []
        self._witness: Session | None = None
        self._told: dict[str, Any] = {}
        self._ended_s: dict[str, float] = {}
        self._events: list[Event] | None = None
        self._params = self._filled(operation.method, operation.params)
        calls = [(peer.method, peer.params), *([peer.then] if peer.then is not None else [])]
        self._peers_calls = [(method, self._filled(method, params)) for method, params in calls]
        self._later = [(method, self._filled(method, params)) for method, params in peer.later]
        every = [(operation.method, self._params), *self._peers_calls, *self._later]
        self._ids = ground.ids.union(*(ground.subject.repertoire.ids(*call) for call in every))

    # -- the schedule

    def play(self, place: Place, first: Order = "victim") -> Ending:
        """Hold them at these places; without a place, they come one after the other."""
        late_ms = WHEN_MS + self._peer.later_ms
        victims_ms = late_ms if self._peer.are_both_late else WHEN_MS
        door, is_first = self._ground.victims.take(), self._operation.is_first
        opens = self._operation.method != "open"
        victim = self._come(door, _VICTIM, "alice", victims_ms, opens=opens, is_nobody=is_first)
        is_nobody = self._peer.then is not None
        door = self._peers.take()
        opens = self._peer.method != "open"
        peer = self._come(door, _PEER, self._peer.agent, late_ms, opens=opens, is_nobody=is_nobody)
        if self._peer.stirs is not None:
            if first == "meanwhile":  # news of the second in which a wait begins
                time.sleep(1 - time.time() % 1)
            self._stirred_s = time.monotonic()
            self._peer.stirs(peer, self._ground.fleet.hello)
        victims, peers = Held(place.ordinal, place.then), Held(place.peers)
        with (
            watched_child(victim.door).watched(self._store, victims.decide, answers=True) as watch,
            watched_child(peer.door).watched(self._store, peers.decide) as peers_watch,
        ):
            mine = self._caller("victim", victim, [(self._operation.method, self._params)])
            others = self._caller(
                "peer",
                peer,
                self._peers_calls,
                before=lambda: self._pass_time(victim, peer),
                after=lambda: self._peer.deed(self._store),
            )
            later = self._caller("later", peer, self._later)
            # How many changes a reader had made when it slept: its changes after it is woken are no places.
            asleep: int | None = None
            self._began_s = time.monotonic()
            try:
                if first == "meanwhile":
                    mine.start()
                    until(or_waits(victim.door, watch, lambda: victims.stands or not mine.is_alive()))
                    asleep = len(watch.changes)
                    others.start()
                    self._stand(or_waits(peer.door, peers_watch, lambda: not others.is_alive()))
                    self.peer_waited = others.is_alive()
                    self._let_go_on(victims, peers, mine, others)
                elif place.ordinal == 0:
                    turns = [others, later]
                    if first == "late":
                        self._pass_time(victim, peer)
                    turns.insert(0 if first == "late" else ORDERS.index(first), mine)
                    for thread in turns:
                        thread.start()
                        thread.join(patient(LIMIT_S))
                else:
                    mine.start()
                    until(lambda: victims.stands or not mine.is_alive())
                    others.start()
                    self._stand(or_waits(peer.door, peers_watch, lambda: peers.stands or not others.is_alive()))
                    self.peer_waited = others.is_alive() and not peers.stands
                    made = list(peers_watch.changes)
                    self.reached = [change.ordinal for change in (until_it_repeats(made) if self.peer_waited else made)]
                    if peers.stands:
                        victims.let_go()
                        self._stand(or_waits(victim.door, watch, lambda: not mine.is_alive()))
                    elif place.then and not self.peer_waited:
                        victims.go_on()
                        self._stand(or_waits(victim.door, watch, lambda: victims.stands or not mine.is_alive()))
                        later.start()
                        self._stand(or_waits(peer.door, peers_watch, lambda: not later.is_alive()))
                        self.peer_waited = later.is_alive()
                    self._let_go_on(victims, peers, mine, others, later)
            finally:
                victims.let_go()
                peers.let_go()
            self.changes = [change for change in watch.changes[:asleep] if change.path != ANSWER or self._peer.late]
        self.held, self.peers_held = victims.change, peers.change
        for name in _CALLERS:
            if isinstance(self._told.get(name), DoorError) and not isinstance(self._told[name], Refused):
                raise self._told[name]
        return Ending(self._look(), tuple(self._plain(self._told.get(name)) for name in _CALLERS))

    def _stand(self, is_so: Callable[[], bool]) -> None:
        """Let one of them stand until it is so, or until its caller would give it up."""
        began_s = time.monotonic()
        until(is_so, STAND_S)
        self.stood_too_long |= time.monotonic() - began_s > patient(STAND_S) / 2

    def _let_go_on(self, victims: Held, peers: Held, *threads: threading.Thread) -> None:
        """Let them go on to their ends; a call that was not made by then is made."""
        self._let_go_s = time.monotonic()
        victims.let_go()
        peers.let_go()
        for thread in threads:
            if thread.ident is None:
                thread.start()
            thread.join(patient(LIMIT_S))
        self.waited_ms = round(1000 * (time.monotonic() - self._let_go_s)) if self.peer_waited else 0

    def _pass_time(self, *sessions: Session) -> None:
        """Move the clocks of both. It is no call that a history tells: the victim may be in the middle of one."""
        if self._peer.passes_ms:
            for session in sessions:
                session.now_ms = WHEN_MS + self._peer.passes_ms
                session.door.call("clock.set", {"now_ms": session.now_ms})

    def _caller(
        self,
        name: str,
        session: Session,
        calls: list[tuple[str, dict[str, Any]]],
        before: Callable[[], object] = lambda: None,
        after: Callable[[], object] = lambda: None,
    ) -> threading.Thread:
        def call() -> None:
            before()
            for some in [[single] for single in calls] if self._peer.goes_on else [calls]:
                _call(self._told, name, session, some)
            after()
            self._ended_s[name] = time.monotonic()

        return threading.Thread(target=call)

    @property
    def slept_s(self) -> float | None:
        """How long the victim waited with the peer answered and nobody held; None if half of its time was over."""
        free_s = max(self._let_go_s, self._ended_s["peer"])
        return None if free_s - self._began_s > WAITS_S / 2 else self._ended_s["victim"] - free_s

    @property
    def is_late(self) -> bool:
        """Did the peer's call end in a later second than the one in which news came and went before the wait?"""
        return self._stirred_s > 0 and self._ended_s["peer"] - self._stirred_s > 1

    def _plain(self, reply: Any) -> Any:
        """An answer without the parts that may differ from run to run: numbers, times, and ids that the bus chose."""
        if isinstance(reply, Refused):
            return {"code": reply.code}
        if isinstance(reply, dict):
            return {name: self._plain(value) for name, value in reply.items() if not name.endswith("_at")}
        if isinstance(reply, list):
            return [self._plain(value) for value in reply]
        if isinstance(reply, str):
            return reply if reply in self._ids else "*"
        return reply if reply is None or isinstance(reply, bool) else "#"

    # -- the sessions, and the state that is found

    def _opening(self) -> dict[str, Any]:
        return {"store": str(self._store), "options": dict(self._operation.options)}

    def _filled(self, method: str, params: Callable[[Prepared], dict[str, Any]]) -> dict[str, Any]:
        return self._opening() if method == "open" else params(self._ground.prepared)

    def _door(self) -> Door:
        return self._ground.fleet.door(1, self._store, dict(self._operation.options))

    def _come(
        self, door: Door, number: int, agent: str, now_ms: int, *, opens: bool = False, is_nobody: bool = False
    ) -> Session:
        if opens:
            door.call("open", self._opening())
        session = Session(door, self._recorder, process=number, agent=agent)
        self._sessions.append(session)
        tell_time(session, self._ground.fleet.hello, now_ms)
        enter = self._ground.subject.enter
        if enter is not None and not is_nobody:
            enter(session, self._ground.prepared)
        return session

    def _look(self) -> dict[str, Any]:
        if self._ground.subject.read is None and self._witness is None:
            self._witness = self._come(self._door(), _WITNESS, "bob", WHEN_MS)
        # If time passes in a call, it may have asked for the time before or after: the stored times are its own affair.
        clock = "wall" if self._peer.passes_ms else self._ground.fleet.hello.clock
        return self._ground.subject.truth.comparable(self._dump(), self._ids, clock)

    def _dump(self) -> dict[str, Any]:
        """Dump by a process that was not there, or from outside; the latter is only recorded as the peer's."""
        witness = self._witness or self._sessions[-1]
        return reading.dump(witness, self._store, self._ground.fleet, self._ground.subject)

    def judge(self) -> list[Problem]:
        """Check all that must be true in any order; the victim goes on first, as its memory may be old by now."""
        subject, victim = self._ground.subject, self._sessions[0]
        hello = self._ground.fleet.hello
        if subject.is_alone:
            if crowded := list(self._crowd()):
                return crowded
            victim = next(iter(self._holders()), victim)
            tell_time(victim, hello, WHEN_MS)  # an opening was not told the time
        late = list(self._late())
        for epilogue in subject.epilogue:
            if set(epilogue.needs) <= {*hello.nouns, *hello.features}:
                victim.call(epilogue.method, **epilogue.params)
        exported = subject.export is not None and "export" in self._ground.fleet.hello.nouns
        if exported and subject.export is not None:
            (self._witness or victim).call(subject.export)
        dump = self._dump()
        confirm, wrong, reply = self._operation.confirm, "", self._told.get("victim")
        if confirm is not None and isinstance(reply, dict):
            wrong = confirm(self._witness or victim, self._params, reply)
        self._recorder.close()
        promises = subject.truth.promises(self.events())
        problems = subject.truth.problems(Evidence(dump, self._ground.inspector.look(self._store), promises, exported))
        unconfirmed = [Problem(self._operation.noun, f"{self._operation.name} {wrong}")] if wrong else []
        return [*late, *problems, *unconfirmed]

    def _holders(self) -> list[Session]:
        return [session for session in self._sessions if session.door.store == self._store]

    def _crowd(self) -> Iterator[Problem]:
        """If one must be alone: a process that has the store open keeps a third out; if none has, a third gets in."""
        holders = self._holders()
        try:
            self._witness = self._come(self._door(), _WITNESS, "bob", WHEN_MS)
        except Refused as error:
            if not holders:
                yield Problem(self._operation.noun, f"nobody has the store open, and a third is refused: {error}")
            return
        if holders:
            why = f"{self._operation.name} and {self._peer.name} end with the store open, and a third opens it, too"
            yield Problem(self._operation.noun, why)

    def _late(self) -> Iterator[Problem]:
        """The victim goes on as a holder after the peer was told that it is the holder now. Time has moved for both."""
        mine, theirs = self._told.get("victim"), self._told.get("peer")
        if not isinstance(mine, dict) or not isinstance(theirs, dict):
            return
        victim = self._sessions[0]
        calls = [
            (late, params)
            for late in self._peer.late
            if (params := late.params(self._ground.prepared, self._params, mine, theirs)) is not None
        ]
        if calls:
            tell_time(victim, self._ground.fleet.hello, WHEN_MS + self._peer.later_ms)
        for late, params in calls:
            before = self._part(late.tables)
            with contextlib.suppress(Refused):
                victim.call(late.method, **params)
            if (after := self._part(late.tables)) != before:
                lateness = f"stood still until {self._peer.name}, and its late {late.method} has an effect"
                why = f"{self._operation.name} {lateness}: {difference(before, after)}"
                yield Problem(late.noun, why, is_dialect=late.is_dialect)

    def _part(self, names: tuple[str, ...]) -> dict[str, Any]:
        tables = self._look()
        return {name: tables.get(name) for name in names}

    def schedule(self) -> str:
        """Tell a reader who stood where."""
        held = f"{self._operation.name} held before {self.held}, {self._peer.name} "
        if self._peer.ends_a_wait and self.held is None:
            held = f"{self._operation.name} held nowhere, {self._peer.name} "
        if self._peer.later:
            held = f"{self._operation.name} held twice, at last before {self.held}, {self._peer.name} "
        if self.peers_held is not None:
            return f"{held}held before {self.peers_held} while it went on"
        return held + ("waited, and went on after it" if self.peer_waited else "worked meanwhile, then it went on")

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
        image.copy(self.folder, kept)
        (kept / "point.txt").write_text(title + "\n", encoding="utf-8")
        return kept

    def close(self) -> None:
        """Give the processes back, remove the folder."""
        for session, pool in zip(self._sessions, (self._ground.victims, self._peers), strict=False):
            pool.give_back(session.door)
        for session in self._sessions[2:]:
            self._ground.fleet.give_back(session.door, retired=session.retired or not session.door.serves_many)
        with contextlib.suppress(ValueError):  # closed already
            self._recorder.close()
        shutil.rmtree(self.folder, ignore_errors=True)


class Held:
    """One of the two, held before its changes with these numbers; with 0 it never is."""

    def __init__(self, *ordinals: int) -> None:
        self._holds = {ordinal: Hold() for ordinal in ordinals}
        self.change: Change | None = None

    @property
    def stands(self) -> bool:
        """Does it stand there now?"""
        return self.change is not None and not self._holds[self.change.ordinal].released.is_set()

    def decide(self, change: Change) -> Verdict:
        """Hold it there."""
        if change.ordinal not in self._holds:
            return Continue()
        self.change = change
        return self._holds[change.ordinal]

    def go_on(self) -> None:
        """Let it go on to the next place."""
        if self.change is not None:
            self._holds[self.change.ordinal].released.set()

    def let_go(self) -> None:
        """Let it go on, even if it comes there only now."""
        for hold in self._holds.values():
            hold.released.set()


def or_waits(door: Door, watch: Watch, is_over: Callable[[], bool]) -> Callable[[], bool]:
    """Is it over, or does the process wait for something that another has?

    A nap between two attempts, or a request for a lock, is looked at twice: the lock may have just been given. Any
    other sleep counts if it has no break. A process that stands before the supervisor, for however long, does not wait.
    One that makes the same few calls again and again does, however it sleeps in between.
    """
    child = watched_child(door)
    since: list[float] = []

    def is_so() -> bool:
        if is_over() or _goes_in_a_circle(watch.changes):
            return True
        calls = child.sleeps_in()
        if calls is None:
            since.clear()
            return False
        since.append(time.monotonic())
        is_nap = bool(calls & _WAIT_NUMBERS[platform.machine()])
        return since[-1] - since[0] > IDLE_S or (is_nap and len(since) > 1)

    return is_so


def until_it_repeats(changes: list[Change]) -> list[Change]:
    """The changes without attempts that only repeat the one before: how many there were is a matter of time."""
    steps = [(change.call, change.path, change.size) for change in changes]

    def first_repeated(step: int) -> int:
        begin = len(steps)
        while begin > step and steps[begin - 1] == steps[begin - 1 - step] and steps[begin - 1][2] is None:
            begin -= 1
        return begin

    while (end := min(map(first_repeated, range(1, ATTEMPT + 1)))) < len(steps):
        del steps[end:]
    return changes[: len(steps)]


def _goes_in_a_circle(changes: list[Change]) -> bool:
    """Are the last calls the same ones, up to four, over and over, and does none of them write?"""
    reads = [(change.call, change.path) for change in changes[-CIRCLE:] if change.size is None]
    return len(reads) == CIRCLE and any(reads[step:] == reads[:-step] for step in range(1, ATTEMPT + 1))


def _call(answers: dict[str, Any], name: str, session: Session, calls: list[tuple[str, dict[str, Any]]]) -> None:
    """Make the calls; tell the last answer, or the first error."""
    try:
        for method, params in calls:
            filled = json.loads(json.dumps(params))
            is_recorded = method not in SESSION_METHODS
            answers[name] = session.call(method, **filled) if is_recorded else session.door.call(method, filled)
    except DoorError as error:
        answers[name] = error


def until(is_so: Callable[[], bool], limit_s: float = LIMIT_S) -> None:
    """Wait for it, but no longer than the limit of a bus of this speed."""
    deadline = time.monotonic() + patient(limit_s)
    while not is_so() and time.monotonic() < deadline:
        time.sleep(SLICE_S)
