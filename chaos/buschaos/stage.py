"""One crash point: a store, a victim that plays the operation there, and a survivor that looks.

The store is a copy of the prepared one, or an image that a victim left (`snapshots`): then nobody has to die for it.
The survivor is another process, warm, that never saw this store. Its findings are compared with those of a rehearsal
without any nemesis before and after the operation; that is the whole judgement. Then it goes on working there.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from time import monotonic
from typing import Any

from buschaos import reading, state
from buschaos.inspector import Inspector
from buschaos.nemeses.syscalls import ANSWER, Change, Continue, End, Kill, Supervision, Verdict, Watch, watched_child
from buschaos.operations import WHEN_MS, Operation, Prepared, tell_time
from buschaos.snapshots import Ledger, Shot
from buschaos.state import Evidence, Problem, short
from buschaos.subjects.base import Subject
from buschaos.tape import image
from buschaos.tape.image import Image
from busproof.bus.base import Door, DoorError, Lost, Refused
from busproof.bus.doors import open_door
from busproof.bus.fleet import Fleet
from busproof.bus.session import Session
from busproof.contract.history import Event, Recorder, merged, read, write

_VICTIM, _SURVIVOR = 2, 3  # process numbers in a point's history; 0 and 1 prepared the store
SESSION_METHODS = ("open", "close")
FRESH_S = 10.0  # of the 60 that a lease lives

Decide = Callable[[Change], Verdict]


class Victims:
    """Processes under the supervisor that said hello and have no store. One more is always starting up."""

    def __init__(
        self, spec: str, system: str, *, start_ahead: bool, also: Iterable[str] = (), spares: str | None = None
    ) -> None:
        self._spec, self._system, self._start_ahead = spec, system, start_ahead
        self._supervision = Supervision(also, spares)
        self._starting: Door | None = None
        self._alive: list[Door] = []

    def take(self) -> Door:
        """Take one of them."""
        if self._alive:
            return self._alive.pop()
        victim = self._starting or self._open()
        self._starting = self._open() if self._start_ahead else None
        try:
            victim.get_ready(self._system)
        except BaseException:
            victim.kill()
            raise
        return victim

    def _open(self) -> Door:
        return open_door(self._spec, self._supervision.spawn)

    def give_back(self, door: Door) -> None:
        """Keep one that lived through its point, if it can serve another store."""
        if not door.serves_many:
            return door.kill()
        try:
            door.call("close", {})
            self._alive.append(door)
        except DoorError:
            door.kill()
        return None

    def close(self) -> None:
        """End them all."""
        for door in (*self._alive, *filter(None, [self._starting])):
            door.kill()
        self._supervision.end()


@dataclass
class Ground:
    """The things that all points of a bus share."""

    subject: Subject
    fleet: Fleet
    victims: Victims
    inspector: Inspector
    template: Path  # the prepared store
    history: Path  # of its preparation
    prepared: Prepared
    ids: set[str]  # of the messages in it
    options: dict[str, Any] = field(default_factory=dict)  # with which stores are opened
    made_s: float = field(default_factory=monotonic)

    @classmethod
    def new(cls, subject: Subject, fleet: Fleet, victims: Victims, inspector: Inspector, folder: Path) -> Ground:
        """A store that is prepared now, in this folder."""
        prepared = subject.fill_store(fleet, folder, history := folder.with_suffix(".jsonl"))
        ids = {promise.id for promise in subject.truth.promises(read(history))}
        return cls(subject, fleet, victims, inspector, folder, history, prepared, ids)

    def fresh(self, folder: Path) -> Ground:
        """Itself; on a wall clock, which ends the leases of the prepared store, one that is prepared now."""
        if self.fleet.hello.clock != "wall" or monotonic() - self.made_s < FRESH_S:
            return self
        return Ground.new(self.subject, self.fleet, self.victims, self.inspector, folder)

    @cached_property
    def events(self) -> list[Event]:
        """The events of the preparation, read once for all points."""
        return list(read(self.history))


@dataclass
class Rehearsal:
    """An operation played without a nemesis."""

    changes: list[Change]
    before: dict[str, Any]
    after: dict[str, Any]
    base: Image  # the store when the operation began
    ledger: Ledger
    reply: dict[str, Any]
    processes: frozenset[int] = frozenset()  # that made the changes, and are no more


@dataclass
class Outcome:
    """How the victim's call ended."""

    watch: Watch
    answered: bool = False
    refused: Refused | None = None
    reply: dict[str, Any] = field(default_factory=dict)
    base: Image | None = None  # the store when the call began, if recorded
    ledger: Ledger | None = None  # how much of the call was seen, if recorded


@dataclass
class Pretended:
    """The door of a victim that is not there: it gives the answer that the real one gave, or dies."""

    reply: dict[str, Any] | None
    store: Path | None = None
    serves_many = False
    pid = None
    stderr = ""

    def processes(self) -> list[Path]:
        """None."""
        return []

    def get_ready(self, system: str) -> None:
        """Nothing is to be done."""

    def call(self, method: str, params: dict[str, Any], *, timeout_s: float = 30.0) -> dict[str, Any]:
        """The answer."""
        if method == "clock.set":
            return {}
        if self.reply is None:
            raise Lost("killed")
        return self.reply

    def kill(self) -> None:
        """Nothing is held."""

    def close(self) -> None:
        """Nothing is held."""


class Stage:
    """A folder for one point. `close` removes it."""

    def __init__(self, ground: Ground, operation: Operation, folder: Path, left: Image | None = None) -> None:
        self._ground, self._operation, self.folder = ground, operation, folder
        self._params = operation.params(ground.prepared)
        self._known_ids = ground.ids | ground.subject.repertoire.ids(operation.method, self._params)
        self._options = {**ground.options, **dict(operation.options)}
        self._store = folder / "store"
        folder.mkdir()
        if left is not None:
            left.put(self._store)
        elif operation.empty_store:
            self._store.mkdir()
        else:
            image.copy(ground.template, self._store)
            operation.ages(self._store)
        self._events: list[Event] | None = None
        self._recorder = Recorder(folder / "point.jsonl", run="points", system=ground.fleet.system)
        self.has_company = False  # others have done something
        self._victim: Session | None = None
        self._survivor: Session | None = None

    def look(self) -> dict[str, Any]:
        """The state as found by a process that was not there."""
        return self._find()[0]

    def look_at_the_first(self) -> dict[str, Any]:
        """The same, when only the work before the operation was done."""
        if self._operation.first is not None:
            self._operation.first(self._come())
        return self.look()

    def _find(self) -> tuple[dict[str, Any], dict[str, Any]]:
        subject, hello = self._ground.subject, self._ground.fleet.hello
        # Files first, as the victim left them: the survivor may repair files that it reads, even at its opening.
        files = {"files": subject.files(self._store, hello)}
        if subject.meanwhile is not None:
            subject.meanwhile(self._store)
        if subject.catch_up is not None:
            self._come().call(subject.catch_up)
        elif subject.read is None:
            self._come()
        dump = self._dump()
        return files | subject.truth.comparable(dump, self._known_ids, hello.clock), dump

    def find(self) -> tuple[dict[str, Any], Evidence]:
        """The same, and the facts of the files; nothing is promised."""
        left_state, dump = self._find()
        return left_state, Evidence(dump, self._ground.inspector.look(self._store))

    def evidence(self) -> Evidence:
        """All that is known in the end, with an export."""
        exported = self._export()
        return Evidence(self._dump(), self._ground.inspector.look(self._store), exported=exported)

    def _export(self) -> bool:
        subject = self._ground.subject
        exported = subject.export is not None and "export" in self._ground.fleet.hello.nouns
        if exported and subject.export is not None:
            self._come().call(subject.export)
        return exported

    def _dump(self) -> dict[str, Any]:
        subject = self._ground.subject
        if subject.read is None:
            return reading.dump(self._come(), self._store, self._ground.fleet, subject)
        outside = reading.Outside(subject.read, self._store)
        return Session(outside, self._recorder, process=_SURVIVOR, agent="kit").call("dump")

    def play(
        self, decide: Decide, *, kill_after_answer: bool = False, end: End | None = None, records: bool = False
    ) -> Outcome:
        """The victim opens the store and plays the operation while `decide` judges its changes and its answer.

        With an `end` it is asked to end, at a change or after its answer, and is killed a moment later.
        """
        door = self._ground.victims.take()
        self._victim = victim = Session(door, self._recorder, process=_VICTIM, agent="alice")
        if self._operation.method != "open":
            door.call("open", self._opening())
            self._tell_time(victim)
            self._enter(victim)
            if self._operation.first is not None:
                self._operation.first(victim)
        base = image.of(self._store) if records else None
        child = watched_child(door)
        with child.watched(self._store, decide, answers=True, records=records) as watch:
            outcome = self._call(victim, watch)
            if end is not None:
                if kill_after_answer:
                    child.ask(end)
                child.close()
            if end is not None or kill_after_answer:
                watch.is_killed = True
            elif outcome.refused is None:
                self._settle(victim)
            if base is not None:
                missed = image.difference(image.replay(base, watch.tape), image.of(self._store))
                changes = sum(change.path != ANSWER for change in watch.changes)
                outcome.base = base
                outcome.ledger = Ledger(changes, missed, child.mapped(self._store), watch.unread)
        if watch.is_killed:
            victim.retired = True
            door.kill()
            when = "after the answer" if watch.struck is None else str(watch.struck)
            self._recorder.record("nemesis", process=_VICTIM, op="kill", agent="alice", value={"when": when})
        return outcome

    def others(self) -> None:
        """Do the work of other writers of the store on the operation's files meanwhile."""
        self.has_company = self._ground.subject.repertoire.others[self._operation.name](self._store)

    def _call(self, victim: Session, watch: Watch) -> Outcome:
        method = self._operation.method
        try:
            if method == "open":
                reply = victim.door.call("open", self._opening())
            elif method == "close":
                reply = victim.door.call("close", {})
            else:
                reply = victim.call(method, **self._params)
        except Refused as error:
            return Outcome(watch, refused=error)
        except DoorError:
            victim.retired = True
            return Outcome(watch)
        return Outcome(watch, answered=True, reply=reply)

    def _opening(self) -> dict[str, Any]:
        return {"store": str(self._store), "options": self._options}

    def pretend(self, shot: Shot, reply: dict[str, Any]) -> Outcome:
        """Pretend that the victim was here and died at this point; the history says so."""
        method, watch = self._operation.method, Watch(str(self._store), lambda _: Kill(), is_killed=True)
        watch.struck = shot.struck
        if method not in SESSION_METHODS:
            door = Pretended(reply if shot.is_answered else None)
            session = Session(door, self._recorder, process=_VICTIM, agent="alice")
            tell_time(session, self._ground.fleet.hello, WHEN_MS)
            with contextlib.suppress(DoorError):
                session.call(method, **self._params)
        when = "after the answer" if shot.struck is None else str(shot.struck)
        self._recorder.record("nemesis", process=_VICTIM, op="kill", agent="alice", value={"when": when})
        return Outcome(watch, answered=shot.is_answered, reply=reply if shot.is_answered else {})

    def recovery(self) -> tuple[Image, list[Change]]:
        """The changes that the next process makes on the store before it is asked for anything new."""
        base, door = image.of(self._store), self._ground.victims.take()
        session = Session(door, self._recorder, process=_VICTIM, agent="bob")
        try:
            with watched_child(door).watched(self._store, lambda _: Continue(), records=True) as watch:
                door.call("open", self._opening())
                self._tell_time(session)
                if (catch_up := self._ground.subject.catch_up) is not None:
                    session.call(catch_up)
        except DoorError:
            door.kill()
            return base, []  # a look at this point tells it
        left = image.of(self._store)
        self._ground.victims.give_back(door)
        is_whole = not image.difference(image.replay(base, watch.tape), left)
        return base, watch.changes if is_whole else []

    def _settle(self, victim: Session) -> None:
        """Make a second call: when it is answered, the program has finished its work after the first answer."""
        if victim.retired or self._operation.method == "close":
            return
        try:
            method, params = self._ground.subject.settle
            victim.call(method, **params)
        except Refused:
            pass
        except DoorError:
            victim.retired = True

    # -- judging

    def judge(self, outcome: Outcome, rehearsal: Rehearsal, *, again: bool = True) -> list[Problem]:
        """The problems that a survivor finds, at first and after the same call again."""
        subject = self._ground.subject
        try:
            left_state, evidence = self.find()
            # Also problems that a retry would heal: a reader may come before it.
            wrong = self._half_done(outcome, rehearsal, left_state) or subject.truth.problems(evidence)
            wrong = wrong or self._unconfirmed(outcome)
            is_file = state.tables(rehearsal.before) == state.tables(rehearsal.after)
            is_looked_at = subject.is_export_apart and self._operation.method != subject.export
            if not wrong and is_looked_at and is_file and left_state == rehearsal.before:
                # Only a file would show the operation, and none does: no export may tell of it.
                wrong = subject.truth.problems(self.evidence())
        except DoorError as error:
            return [Problem("log", f"a new process cannot work on the store: {error}")]
        return wrong or (self._again(outcome, rehearsal) if again else [])

    def _half_done(self, outcome: Outcome, rehearsal: Rehearsal, left_state: dict[str, Any]) -> list[Problem]:
        before, after, refused = rehearsal.before, rehearsal.after, outcome.refused
        if self._victim is not None and self._victim.retired and not outcome.watch.is_killed:
            return [self._problem("ended its process")]
        if outcome.answered and left_state != after:
            return [self._problem(f"was answered, and is not whole: {state.difference(after, left_state)}")]
        shown = [name for name in self._operation.shows if outcome.answered and not outcome.watch.is_killed]
        if wrong := [name for name in shown if outcome.reply.get(name) != rehearsal.reply.get(name)]:
            answer, is_so = (
                short({name: reply.get(name) for name in wrong}) for reply in (outcome.reply, rehearsal.reply)
            )
            return [self._problem(f"was answered with {answer}, and what is there is {is_so}")]
        if refused is not None and refused.definite and not _is_undone(left_state, before, after):
            why = f"was refused as certainly not done ({refused.code}), and yet: {state.difference(before, left_state)}"
            return [self._problem(why)]
        is_partly = self._operation.is_each and not outcome.answered and _is_between(left_state, before, after)
        if not is_partly and not _is_either(left_state, before, after):
            return [self._problem(f"is half done: {state.difference(before, left_state)}")]
        return []

    def _unconfirmed(self, outcome: Outcome) -> list[Problem]:
        """Does a process that has never seen the call confirm the answer that the victim gave before its end?"""
        confirm = self._operation.confirm
        if confirm is None or self._operation.first is not None or not (outcome.watch.is_killed and outcome.reply):
            return []
        wrong = confirm(self._come(), self._params, outcome.reply)
        return [self._problem(f"was answered, and afterwards {wrong}")] if wrong else []

    def _again(self, outcome: Outcome, rehearsal: Rehearsal) -> list[Problem]:
        """The same call again, by the victim if it lives and else by the survivor, must reach the state after.

        If twice is not once, it is made only if it is certain that nothing has happened. New calls must work anyway.
        """
        subject = self._ground.subject
        is_undone = outcome.refused is not None and outcome.refused.definite
        try:
            if (is_undone or not self._operation.is_once) and (wrong := self._wrong_again(rehearsal)):
                return [self._problem(f"again {wrong}")]
            self.go_on()
            exported = self._export()
            self._another_comes()
            dump = self._dump()
        except DoorError as error:
            return [self._problem(f"again: {error}")]
        self._recorder.close()
        facts = self._ground.inspector.look(self._store)
        return subject.truth.problems(Evidence(dump, facts, subject.truth.promises(self.events()), exported))

    def _wrong_again(self, rehearsal: Rehearsal) -> str:
        """The part that the same call again leaves undone, or tells wrongly."""
        reply = self._retry()
        left_state = self.look()
        if left_state != rehearsal.after:
            return f"does not complete it: {state.difference(rehearsal.after, left_state)}"
        confirm = self._operation.confirm
        return confirm(self._come(), self._params, reply) if confirm is not None and reply else ""

    def go_on(self) -> None:
        """New calls, whose answers and traces are judged with all others."""
        declared = {*self._ground.fleet.hello.nouns, *self._ground.fleet.hello.features}
        for epilogue in self._ground.subject.epilogue:
            if set(epilogue.needs) <= declared:
                self._come().call(epilogue.method, **epilogue.params)

    def work_on(self) -> None:
        """Let the survivor play the operation, then new calls: a mere look may not meet the fault."""
        self._call_again(self._come())
        self.go_on()

    def _retry(self) -> dict[str, Any]:
        method, victim = self._operation.method, self._victim
        if victim is not None and not victim.retired and not victim.door.serves_many:
            return self._call_again(victim)  # nobody can open its store anew: it must work by itself
        if victim is None or victim.retired:
            survivor = self._come()  # and so it has opened the store
            return {} if method in SESSION_METHODS else self._call_again(survivor)
        if method not in SESSION_METHODS:
            with contextlib.suppress(Refused):  # an error may spoil a connection for good; a fresh one must do
                return victim.call(method, **self._params)
        if self._ground.subject.is_alone:
            self._let_survivor_go()
        victim.door.call("open", self._opening())
        self._tell_time(victim)
        return {} if method in SESSION_METHODS else victim.call(method, **self._params)

    def _call_again(self, session: Session) -> dict[str, Any]:
        self._enter(session)
        try:
            return session.call(self._operation.method, **self._params)
        except Refused as error:
            if error.code in self._operation.again:
                return {}
            raise

    def _problem(self, what: str) -> Problem:
        return Problem(self._operation.noun, f"{self._operation.name} {what}")

    def events(self) -> list[Event]:
        """Everything that was recorded, preparation included: the history that is written if there is a problem."""
        if self._events is None:
            self._close_recorder()
            before = [] if self._operation.empty_store else [self._ground.events]
            self._events = list(merged(map(iter, [*before, list(read(self._recorder.path))])))
        return self._events

    # -- the survivor, and the end

    def _come(self) -> Session:
        """The survivor; if a session is somebody, it comes as the victim did.

        If one must be alone, it is the victim as long as that lives and has the store open.
        """
        if self._ground.subject.is_alone and self._victim is not None:
            if not self._victim.retired and self._victim.door.store == self._store:
                self._tell_time(self._victim)  # an opening was not told the time
                return self._victim
            if self._victim.retired:
                self._victim.door.kill()  # one that cannot answer may still hold the store
        if self._survivor is None:
            agent = "bob" if self._ground.subject.enter is None else "alice"
            door = self._ground.fleet.door(1, self._store, self._options)
            self._survivor = Session(door, self._recorder, process=_SURVIVOR, agent=agent)
            self._tell_time(self._survivor)
        return self._survivor

    def _another_comes(self) -> None:
        """What the survivor wrote behind something torn it knows itself, and perhaps nobody else."""
        survivor, subject = self._survivor, self._ground.subject
        if survivor is not None and not subject.is_alone and subject.read is None:
            self._survivor = None
            self._come()  # before the other one is given back: it would be the same process
            self._ground.fleet.give_back(survivor.door, retired=survivor.retired)
        else:
            self._let_survivor_go()

    def _enter(self, session: Session) -> None:
        enter = self._ground.subject.enter
        if enter is not None and not self._operation.is_first:
            enter(session, self._ground.prepared)

    def _let_survivor_go(self) -> None:
        session, self._survivor = self._survivor, None
        if session is not None:
            # A server of one store would be kept for the next one under the same name.
            self._ground.fleet.give_back(session.door, retired=session.retired or not session.door.serves_many)

    def _tell_time(self, session: Session) -> None:
        tell_time(session, self._ground.fleet.hello, WHEN_MS)

    def _close_recorder(self) -> None:
        with contextlib.suppress(ValueError):  # closed already
            self._recorder.close()

    def keep(self, kept: Path, title: str) -> Path:
        """Save store and history as evidence."""
        write(self.events(), self.folder / "history.jsonl")
        shutil.rmtree(kept, ignore_errors=True)
        image.copy(self.folder, kept)
        (kept / "point.txt").write_text(title + "\n", encoding="utf-8")
        return kept

    def leave(self, folder: Path) -> None:
        """Copy the store as it is now."""
        image.copy(self._store, folder)

    def dismiss(self) -> None:
        """Have the victim killed in the end, too: images of its run show a time when it was dead."""
        if self._victim is not None:
            self._victim.retired = True

    def close(self) -> None:
        """Give the processes back, remove the folder."""
        self._let_survivor_go()
        if self._victim is not None:
            if self._victim.retired:
                self._victim.door.kill()
            else:
                self._ground.victims.give_back(self._victim.door)
        self._close_recorder()
        if self._operation.first is not None:
            self._ground.subject.end_spared(self._store)
        shutil.rmtree(self.folder, ignore_errors=True)


def _is_undone(left_state: dict[str, Any], before: dict[str, Any], after: dict[str, Any]) -> bool:
    """Nothing of it is there. If tables speak of files, a file of which no table speaks may stay."""
    if state.tables(before) == state.tables(after):
        return left_state == before
    return state.tables(left_state) == state.tables(before) and _is_either(left_state, before, after)


def _is_between(left_state: dict[str, Any], before: dict[str, Any], after: dict[str, Any]) -> bool:
    """Of the rows that the operation takes away, some are gone."""
    return all(
        state.without(after[name], left_state[name]) == [] == state.without(left_state[name], before[name])
        for name in before
    )


def _is_either(left_state: dict[str, Any], before: dict[str, Any], after: dict[str, Any]) -> bool:
    """The tables are those before or those after, and so is each file: no transaction spans both."""

    def files(side: dict[str, Any]) -> dict[str, str]:
        return {row["path"]: row["content"] for row in side["files"]}

    now, then, now_whole = files(left_state), files(before), files(after)
    return state.tables(left_state) in (state.tables(before), state.tables(after)) and all(
        now.get(path) in (then.get(path), now_whole.get(path)) for path in {*now, *then, *now_whole}
    )
