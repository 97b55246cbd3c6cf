"""One crash point: a copy of the prepared store, a victim that plays the operation there, and a survivor that looks.

The survivor is another process, warm, that never saw this store. What it finds is compared with what a rehearsal
without any nemesis found before and after the operation; that is the whole judgement.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from buschaos import reading, state
from buschaos.inspector import Inspector
from buschaos.nemeses.syscalls import Change, Supervision, Verdict, Watch, watched_child
from buschaos.operations import WHEN_MS, Operation, Prepared, tell_time
from buschaos.state import Evidence, Problem
from buschaos.subjects.base import Subject
from busproof.adapters.base import Door, DoorError, Refused
from busproof.adapters.doors import open_door
from busproof.fleet import Fleet
from busproof.history import Recorder, merge, read
from busproof.session import Session

_VICTIM, _SURVIVOR = 2, 3  # process numbers in a point's history; 0 and 1 prepared the store
_SESSION_METHODS = ("open", "close")

Decide = Callable[[Change], Verdict]


class Victims:
    """Processes under the supervisor that said hello and have no store. One more is always starting up."""

    def __init__(self, spec: str, system: str, *, start_ahead: bool) -> None:
        self._spec, self._system, self._start_ahead = spec, system, start_ahead
        self._supervision = Supervision()
        self._starting: Door | None = None
        self._alive: list[Door] = []

    def take(self) -> Door:
        """One of them."""
        if self._alive:
            return self._alive.pop()
        victim = self._starting or self._open()
        self._starting = self._open() if self._start_ahead else None
        victim.get_ready(self._system)
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
    """What all points of a bus share."""

    subject: Subject
    fleet: Fleet
    victims: Victims
    inspector: Inspector
    template: Path  # the prepared store
    history: Path  # of its preparation
    prepared: Prepared
    ids: set[str]  # of the messages in it


@dataclass
class Rehearsal:
    """An operation played without a nemesis."""

    changes: list[Change]
    before: dict[str, Any]
    after: dict[str, Any]


@dataclass
class Outcome:
    """How the victim's call ended."""

    watch: Watch
    answered: bool = False
    refused: Refused | None = None


class Stage:
    """A folder for one point. `close` removes it."""

    def __init__(self, ground: Ground, operation: Operation, folder: Path) -> None:
        self._ground, self._operation, self.folder = ground, operation, folder
        self._params = operation.params(ground.prepared)
        self._known_ids = ground.ids | ground.subject.ids(operation.method, self._params)
        self._store = folder / "store"
        folder.mkdir()
        if operation.empty_store:
            self._store.mkdir()
        else:
            shutil.copytree(ground.template, self._store)
        self._recorder = Recorder(folder / "point.jsonl", run="points", system=ground.fleet.system)
        self._victim: Session | None = None
        self._survivor: Session | None = None

    def look(self) -> dict[str, Any]:
        """What a process that was not there finds."""
        subject, hello = self._ground.subject, self._ground.fleet.hello
        if subject.read is None:
            self._come()
        # Files first, as the victim left them: the survivor may repair what it reads.
        files = {"files": subject.files(self._store)}
        return files | subject.comparable(self._dump(), self._known_ids, hello.clock)

    def _dump(self) -> dict[str, Any]:
        subject = self._ground.subject
        if subject.read is None:
            return reading.dump(self._come(), self._store, self._ground.fleet.hello)
        outside = reading.Outside(subject.read, self._store)
        return Session(outside, self._recorder, process=_SURVIVOR, agent="kit").call("dump")

    def play(self, decide: Decide, *, kill_after_answer: bool = False) -> Outcome:
        """The victim opens the store and plays the operation while `decide` judges its changes."""
        door = self._ground.victims.take()
        self._victim = victim = Session(door, self._recorder, process=_VICTIM, agent="alice")
        if self._operation.method != "open":
            door.call("open", {"store": str(self._store), "options": {}})
            self._tell_time(victim)
            self._enter(victim)
        with watched_child(door).watched(self._store, decide) as watch:
            outcome = self._call(victim, watch)
            if kill_after_answer:
                watch.is_killed = True
            elif outcome.refused is None:
                self._settle(victim)
        if watch.is_killed:
            victim.retired = True
            door.kill()
            when = "after the answer" if watch.struck is None else str(watch.struck)
            self._recorder.record("nemesis", process=_VICTIM, op="kill", agent="alice", value={"when": when})
        return outcome

    def _call(self, victim: Session, watch: Watch) -> Outcome:
        method = self._operation.method
        try:
            if method == "open":
                victim.door.call("open", {"store": str(self._store), "options": {}})
            elif method == "close":
                victim.door.call("close", {})
            else:
                victim.call(method, **self._params)
        except Refused as error:
            return Outcome(watch, refused=error)
        except DoorError:
            victim.retired = True
            return Outcome(watch)
        return Outcome(watch, answered=True)

    def _settle(self, victim: Session) -> None:
        """A second call: when it is answered, the program has done what it does after its first answer."""
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

    def judge(self, outcome: Outcome, rehearsal: Rehearsal) -> list[Problem]:
        """What a survivor finds, and finds after the same call again."""
        try:
            found = self.look()
        except DoorError as error:
            return [Problem("log", f"a new process cannot work on the store: {error}")]
        return self._half_done(outcome, rehearsal, found) or self._again(rehearsal)

    def _half_done(self, outcome: Outcome, rehearsal: Rehearsal, found: dict[str, Any]) -> list[Problem]:
        before, after, refused = rehearsal.before, rehearsal.after, outcome.refused
        assert self._victim is not None
        if self._victim.retired and not outcome.watch.is_killed:
            return [self._problem("ended its process")]
        if outcome.answered and found != after:
            return [self._problem(f"was answered, and is not whole: {state.difference(after, found)}")]
        if refused is not None and refused.definite and found != before:
            told = f"was refused as certainly not done ({refused.code}), and yet: {state.difference(before, found)}"
            return [self._problem(told)]
        if not _is_either(found, before, after):
            return [self._problem(f"is half done: {state.difference(before, found)}")]
        return []

    def _again(self, rehearsal: Rehearsal) -> list[Problem]:
        """The same call again, by the victim if it lives and else by the survivor, must reach the state after."""
        subject = self._ground.subject
        exported = subject.export is not None and "export" in self._ground.fleet.hello.nouns
        try:
            reply = self._retry()
            found = self.look()
            if found != rehearsal.after:
                return [self._problem(f"again does not complete it: {state.difference(rehearsal.after, found)}")]
            confirm = self._operation.confirm
            if confirm is not None and reply and (wrong := confirm(self._come(), self._params, reply)):
                return [self._problem(f"again {wrong}")]
            if exported and subject.export is not None:
                self._come().call(subject.export)
            dump = self._dump()
        except DoorError as error:
            return [self._problem(f"again: {error}")]
        self._recorder.close()
        facts = self._ground.inspector.look(self._store)
        return subject.problems(Evidence(dump, facts, subject.promises(read(self.history())), exported))

    def _retry(self) -> dict[str, Any]:
        method, victim = self._operation.method, self._victim
        if victim is not None and not victim.retired and not victim.door.serves_many:
            return self._call_again(victim)  # nobody can open its store anew: it must work by itself
        if victim is None or victim.retired:
            survivor = self._come()  # and so it has opened the store
            return {} if method in _SESSION_METHODS else self._call_again(survivor)
        if method not in _SESSION_METHODS:
            with contextlib.suppress(Refused):  # an error may spoil a connection for good; a fresh one must do
                return victim.call(method, **self._params)
        victim.door.call("open", {"store": str(self._store), "options": {}})
        self._tell_time(victim)
        return {} if method in _SESSION_METHODS else victim.call(method, **self._params)

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

    def history(self) -> Path:
        """Everything that was recorded, preparation included."""
        whole = self.folder / "history.jsonl"
        if not whole.exists():
            self._close_recorder()
            before = [] if self._operation.empty_store else [self._ground.history]
            merge([*before, self._recorder.path], whole)
        return whole

    # -- the survivor, and the end

    def _come(self) -> Session:
        """The survivor; where a session is somebody, it comes as the victim did."""
        if self._survivor is None:
            agent = "bob" if self._ground.subject.enter is None else "alice"
            door = self._ground.fleet.door(1, self._store, {})
            self._survivor = Session(door, self._recorder, process=_SURVIVOR, agent=agent)
            self._tell_time(self._survivor)
        return self._survivor

    def _enter(self, session: Session) -> None:
        enter = self._ground.subject.enter
        if enter is not None and not self._operation.is_first:
            enter(session, self._ground.prepared)

    def _let_survivor_go(self) -> None:
        session, self._survivor = self._survivor, None
        if session is not None:
            self._ground.fleet.give_back(session.door, retired=session.retired)

    def _tell_time(self, session: Session) -> None:
        tell_time(session, self._ground.fleet.hello, WHEN_MS)

    def _close_recorder(self) -> None:
        with contextlib.suppress(ValueError):  # closed already
            self._recorder.close()

    def keep(self, kept: Path, title: str) -> Path:
        """Save store and history as evidence."""
        self.history()
        shutil.rmtree(kept, ignore_errors=True)
        shutil.copytree(self.folder, kept)
        (kept / "point.txt").write_text(title + "\n", encoding="utf-8")
        return kept

    def close(self) -> None:
        """Give the processes back, remove the folder."""
        self._let_survivor_go()
        if self._victim is not None:
            if self._victim.retired:
                self._victim.door.kill()
            else:
                self._ground.victims.give_back(self._victim.door)
        self._close_recorder()
        shutil.rmtree(self.folder, ignore_errors=True)


def _is_either(found: dict[str, Any], before: dict[str, Any], after: dict[str, Any]) -> bool:
    """The tables are those before or those after, and so is each file: no transaction spans both."""

    def tables(state: dict[str, Any]) -> dict[str, Any]:
        return {name: rows for name, rows in state.items() if name != "files"}

    def files(state: dict[str, Any]) -> dict[str, str]:
        return {row["path"]: row["content"] for row in state["files"]}

    now, then, now_whole = files(found), files(before), files(after)
    return tables(found) in (tables(before), tables(after)) and all(
        now.get(path) in (then.get(path), now_whole.get(path)) for path in {*now, *then, *now_whole}
    )
