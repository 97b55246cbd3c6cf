"""A session with every step that its files take: power cuts are made of these.

It may begin on files left by a process that was killed. Data that the dead process had written and not synced is then
still in the system's memory, and only there: a file that is found need not be on the disk.
"""

from __future__ import annotations

import contextlib
import itertools
from dataclasses import dataclass
from pathlib import Path

from buschaos.bus import RunFailed
from buschaos.nemeses.syscalls import ANSWER, Continue, Watch, WatchedChild, watched_child
from buschaos.operations import WHEN_MS, Operation, tell_time
from buschaos.snapshots import ends
from buschaos.stage import Ground
from buschaos.state import Promise
from buschaos.tape import image
from buschaos.tape.image import Image
from buschaos.tape.step import Step
from busproof.bus.base import DoorError, Lost, Refused
from busproof.bus.session import Session
from busproof.contract.history import Recorder, read

ENDING_S = 10.0


@dataclass(frozen=True)
class Mark:
    """A call that was answered: the step of the tape at which it was, and all that had been promised by then."""

    name: str
    noun: str
    answered_at: int
    promises: list[Promise]


@dataclass
class Played:
    """The recorded session."""

    base: Image
    tape: list[Step]
    marks: list[Mark]
    doubt: str


class Recording:
    """One session, in a folder of its own: on `base`, as the steps before it left it."""

    def __init__(self, ground: Ground, folder: Path, base: Image, before: list[Step]) -> None:
        self._ground, self._base, self._before = ground, base, before
        self._store, self._part = folder / "session", folder / "session.jsonl"
        folder.mkdir(exist_ok=True)
        image.replay(base, before).put(self._store)
        self._marks: list[Mark] = []

    def play(self, operations: list[Operation]) -> Played:
        """Open, all of them, close."""
        ground = self._ground
        door = ground.victims.take()
        child = watched_child(door)
        with (
            contextlib.closing(Recorder(self._part, run="points", system=ground.fleet.system)) as recorder,
            child.watched(self._store, lambda _: Continue(), answers=True, records=True) as watch,
        ):
            session = Session(door, recorder, process=2, agent="alice")
            door.call("open", {"store": str(self._store), "options": ground.options})
            tell_time(session, ground.fleet.hello, WHEN_MS)
            if ground.subject.enter is not None:
                ground.subject.enter(session, ground.prepared)
            self._mark("open", "log", watch)
            for operation in operations:
                try:
                    session.call(operation.method, **operation.params(ground.prepared))
                except Refused:
                    pass  # another operation may have taken its place away
                except DoorError as error:
                    raise RunFailed(f"{operation.name} ended the session without any nemesis: {error}") from error
                self._mark(operation.name, operation.noun, watch)
            mapped = child.mapped(self._store)
            self._end(session, child, watch)
            tape = self._before + watch.tape
            missed = image.difference(image.replay(self._base, tape), image.of(self._store))
        ground.victims.give_back(door)
        doubt = f"{', '.join(mapped or missed)}: changed by something that was not seen" if mapped or missed else ""
        return Played(self._base, tape, self._marks, doubt)

    def _end(self, session: Session, child: WatchedChild, watch: Watch) -> None:
        """The last process to leave moves the log into the database."""
        if session.door.serves_many:
            session.door.call("close", {})
            self._mark("close", "log", watch)
        else:
            child.end_input()
            with contextlib.suppress(Lost):
                while True:
                    child.read_line("the end", ENDING_S)

    def _mark(self, name: str, noun: str, watch: Watch) -> None:
        places = itertools.accumulate((len(change.steps) for change in watch.changes), initial=len(self._before))
        answers = [
            at
            for at, change in zip(places, watch.changes, strict=False)
            if change.path == ANSWER and ends(change.steps)
        ]
        events = (event for path in (self._ground.history, self._part) for event in read(path))
        self._marks.append(Mark(name, noun, answers[-1], self._ground.subject.truth.promises(events)))
