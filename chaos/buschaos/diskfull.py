"""The disk fills up: at every level of free space, down to the last page, each operation works or refuses cleanly.

While the disk is full, a refusal must say so (`Subject.says_full`), and the process must live. When there is room
again, a call that was refused as certainly not done must not have happened, and no call by half; every call must
succeed, and the store must be whole.

The same holds for a process with too few descriptors or too little memory, but nobody prescribes the words of the
refusal, and a lack of memory may end a process. A process that lives through it must work again when there is enough.

`python -m buschaos.diskfull` plays a job from stdin inside the namespace of `nemeses.disk` and prints one JSON object
per level.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from buschaos import judge, reading
from buschaos.bus import RunFailed
from buschaos.inspector import Inspector
from buschaos.nemeses import disk
from buschaos.nemeses.scarce import Scarce, scarce
from buschaos.operations import WHEN_MS, Operation, applicable, tell_time
from buschaos.points import Left
from buschaos.state import Evidence, Problem, short
from buschaos.subjects import SUBJECTS
from buschaos.tape import image
from busproof.bus.base import DoorError, Lost, Refused
from busproof.bus.fleet import BusSpecError, Fleet
from busproof.bus.session import Session
from busproof.contract.history import Recorder, merge, read
from busproof.words import kit_failed, reason

FAILED, APART = "failed", "apart"  # instead of a level
ROOM = "room"  # a level with enough of everything
LEVELS = (*range(40), *range(40, 100, 5))  # free pages of 4 KiB
LEVELS_FEW = (0, 1, 2, 3, 5, 8, 13, 21, 28, 34)
LEVELS_OF_SAMPLE = (0, 3, 8)
LEVELS_OF_SLOW_STARTERS = (*LEVELS_FEW, 44)  # at 44 all of `topics` finds room

Wants = tuple[tuple[Scarce, tuple[int, ...]], ...]
WANTS: Wants = (("descriptors", tuple(range(8))), ("KiB of memory", (0, 16, 64, 256, 1024, 4096, 16384)))
WANTS_FEW: Wants = (("descriptors", (0, 1, 2)), ("KiB of memory", (0, 256, 1024)))
WANTS_OF_SAMPLE: Wants = (("descriptors", (1,)), ("KiB of memory", (256,)))


class NotInItsFolderError(Exception):
    """The state of the bus is not in the folder of its store, but in a server, say: a copy of the folder lacks it."""


@dataclass
class Level:
    """The result with so much left; the session was opened before the disk filled up, or after."""

    amount: int
    opened: str
    of: str = "pages"
    answers: Counter[str] = field(default_factory=Counter)
    problems: list[Problem] = field(default_factory=list)

    @property
    def title(self) -> str:
        """For a reader."""
        if self.of == "pages":
            return f"{self.amount} pages free, the session opened {self.opened} the disk filled up"
        return f"{self.amount} {self.of} left"

    @property
    def name(self) -> str:
        """The name of the folder with its evidence."""
        return f"{self.amount}-{self.of.replace(' ', '-')}-opened-{self.opened}"


def run(
    specs: list[str],
    levels: tuple[int, ...],
    work: Path,
    out: Path,
    *,
    system: str,
    folder: Path | None = None,
    wants: Wants = (),
    only: Left | None = None,
) -> Generator[Level]:
    """Play the levels, in a namespace or on the small file system that is given; then the wants. `only`: one of all."""
    played = (
        [(only.of, only.amount, only.opened)]
        if only
        else [
            *(("pages", amount, opened) for amount in levels for opened in ("before", "after")),
            *((what, amount, "before") for what, amounts in wants for amount in amounts),
        ]
    )
    if not played:
        return
    small = folder or work / "small"
    small.mkdir(exist_ok=True)
    command = [sys.executable, "-m", __name__] if folder else disk.python_in_namespace(small, __name__)
    job = {"specs": specs, "system": system, "levels": played, "small": str(small), "work": str(work), "out": str(out)}
    # A session of its own, so that Ctrl-C reaches us alone.
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        try:
            json.dump(job, child.stdin)
            child.stdin.close()
            for line in child.stdout:
                level = json.loads(line)
                if FAILED in level:
                    raise RunFailed(level[FAILED])
                if APART in level:
                    raise NotInItsFolderError(level[APART])
                problems = [Problem(**problem) for problem in level["problems"]]
                yield Level(level["amount"], level["opened"], level["of"], Counter(level["answers"]), problems)
        except BaseException:  # the caller has seen enough
            child.terminate()
            raise
    if child.returncode != 0:
        raise RunFailed(f"the disk-full run ended with status {child.returncode}")


class _FullDisk:
    """Inside: one store prepared on a roomy disk, copied to the small one for each level."""

    def __init__(self, fleet: Fleet, small: Path, work: Path, out: Path) -> None:
        self._fleet, self._small, self._work, self._out = fleet, small, work, out
        self._template = work / "prepared"
        self._subject = reading.suited(SUBJECTS[fleet.system], fleet.hello)
        self._operations = [
            op
            for op in self._subject.repertoire.operations
            if op.method not in ("open", "close") and applicable(op, fleet.hello) and not op.options
            if op.first is None
        ]
        self._prepared = self._subject.fill_store(fleet, self._template, work / "prepared.jsonl")
        self._ask_a_copy()
        self._lasting = set[str]()  # what readers are shown after the calls, where there is room for all of them
        if not reading.can_dump(fleet.hello):
            self.play(Level(0, "before", ROOM))

    def _ask_a_copy(self) -> None:
        """Is what was stored in the folder? If none of it is in a copy, though it is in the store, it is elsewhere."""
        stored = {promise.id for promise in self._subject.truth.promises(read(self._work / "prepared.jsonl"))}
        copied = self._small / "copied"
        image.copy(self._template, copied)
        try:
            if stored and not stored & self._ids(copied) and stored & self._ids(self._template):
                raise NotInItsFolderError("a copy of the store's folder holds nothing of what the bus had stored")
        finally:
            shutil.rmtree(copied)

    def _ids(self, store: Path) -> set[str]:
        """The ids of the messages that a store holds, or that a bus without a dump shows."""
        with contextlib.closing(Recorder(self._work / "ids.jsonl", run="ids", system=self._fleet.system)) as recorder:
            session = self._open(store, recorder, 2)
            try:
                self._enter(session)
                seen = reading.dump(session, store, self._fleet, self._subject)
            finally:
                self._fleet.give_back(session.door, retired=session.retired or self._subject.is_slow_to_start)
        return {row[self._subject.id] for row in seen["messages"]}

    def play(self, level: Level) -> None:
        """Fill, call, make room, look, call again, look."""
        store = self._small / level.name
        image.copy(self._template, store)
        part = self._work / "level.jsonl"
        session: Session | None = None
        try:
            with contextlib.closing(Recorder(part, run="disk", system=self._fleet.system)) as recorder:
                if level.opened == "before":
                    session = self._open(store, recorder, 2)
                    self._enter(session)
                answers: dict[Operation, Refused | None] = {}
                with self._short(level, session):
                    is_in = level.opened == "before"
                    if session is None:
                        session = self._try_to_open(store, recorder, level)
                        is_in = session is not None and self._try_to_enter(session, level)
                    if session is not None and is_in:
                        answers = self._all_calls(session, level)
                if session is not None and session.retired:
                    self._fleet.give_back(session.door, retired=True)
                    session = None
                session = session or self._open(store, recorder, 3)
                self._enter(session)
                dump = self._look_and_retry(store, session, recorder, level, answers)
            self._judge_store(store, dump, level, exported="export" in self._fleet.hello.nouns)
            level.problems += judge.of_history(self._whole()).problems
        except DoorError as error:
            level.problems.append(Problem("log", f"with enough again the store cannot be opened: {error}"))
        finally:
            if session is not None:
                # The files of a store that was removed take space until the server of this one store has ended.
                self._fleet.give_back(session.door, retired=session.retired or self._subject.is_slow_to_start)
            if level.problems:
                self._keep(level, store)
            shutil.rmtree(store)

    def _whole(self) -> Path:
        """The history of this level so far, preparation included."""
        whole = self._work / "level-whole.jsonl"
        merge([self._work / "prepared.jsonl", self._work / "level.jsonl"], whole)
        return whole

    def _judge_store(self, store: Path, dump: dict[str, Any], level: Level, *, exported: bool = False) -> None:
        with Inspector(self._fleet.system) as inspector:
            facts = inspector.look(store)
        promises = self._subject.truth.promises(read(self._whole()))
        level.problems += self._subject.truth.problems(Evidence(dump, facts, promises, exported))

    def _short(self, level: Level, session: Session | None) -> contextlib.AbstractContextManager[None]:
        if level.of == ROOM:
            return contextlib.nullcontext()
        if level.of == "pages":
            return disk.filled(self._small, level.amount)
        assert session is not None
        assert session.door.pid is not None
        return scarce(session.door.pid, "descriptors" if level.of == "descriptors" else "KiB of memory", level.amount)

    def _open(self, store: Path, recorder: Recorder, number: int) -> Session:
        session = Session(self._fleet.door(0, store, {}), recorder, process=number, agent="alice")
        tell_time(session, self._fleet.hello, WHEN_MS)
        return session

    def _enter(self, session: Session) -> None:
        if self._subject.enter is not None:
            self._subject.enter(session, self._prepared)

    def _try_to_open(self, store: Path, recorder: Recorder, level: Level) -> Session | None:
        try:
            return self._open(store, recorder, 2)
        except Refused as error:
            self._note(level, "open", error)
        except Lost as error:
            level.problems.append(Problem("log", f"open on a full disk ended the process: {error}"))
        return None

    def _try_to_enter(self, session: Session, level: Level) -> bool:
        """Try to enter. A session that was not let in is nobody, and all its calls would be refused for that."""
        try:
            self._enter(session)
        except Refused as error:
            self._note(level, "coming in", error)
            return False
        except Lost as error:
            level.problems.append(Problem("log", f"coming in on a full disk ended the process: {error}"))
            return False
        return True

    def _all_calls(self, session: Session, level: Level) -> dict[Operation, Refused | None]:
        """Call every operation on the full disk; return how each was refused, or None: it was answered."""
        answers: dict[Operation, Refused | None] = {}
        for operation in self._operations:
            try:
                reply = session.call(operation.method, **operation.params(self._prepared))
                level.answers["ok"] += 1
                answers[operation] = None
                for name in operation.says:
                    if reply.get(name) is False:
                        why = f"{operation.name} {self._when(level)} is answered with {name}: false"
                        level.problems.append(Problem(operation.noun, why))
            except Refused as error:
                if error.code not in operation.again:  # others of these calls may have come before it
                    self._note(level, operation.name, error)
                answers[operation] = error
            except Lost as error:
                level.answers["ended"] += 1
                if level.of != "KiB of memory":  # no sentence says that a process lives without memory
                    why = f"{operation.name} {self._when(level)} ended the process: {error}"
                    level.problems.append(Problem("log", why))
                break
        return answers

    @staticmethod
    def _when(level: Level) -> str:
        return "on a full disk" if level.of == "pages" else f"with few {level.of}"

    def _note(self, level: Level, name: str, error: Refused) -> None:
        level.answers[error.code] += 1
        if level.of == "pages" and not self._subject.says_full(error):
            kind = "definite" if error.definite else "indefinite"
            why = f"{name} on a full disk is refused with {kind} {error}"
            is_dialect = not self._subject.names_full_disk
            level.problems.append(Problem("log", why, is_dialect=is_dialect))

    def _look_and_retry(
        self, store: Path, session: Session, recorder: Recorder, level: Level, answers: dict[Operation, Refused | None]
    ) -> dict[str, Any]:
        """With room again, what was answered is there, nothing refused is, and each call works on the same session."""
        subject, hello = self._subject, self._fleet.hello
        witness = session  # a state that is read from outside is only recorded as this session's
        if subject.read is None:
            witness = Session(self._fleet.door(1, store, {}), recorder, process=4, agent="bob")
        try:
            tell_time(witness, hello, WHEN_MS)
            dump = reading.dump(witness, store, self._fleet, subject)
            self._judge_answers(dump, answers, level)
            self._judge_store(store, dump, level)  # before a call again heals it
            for operation in self._operations:
                self._call_again(session, operation, level)
            if "export" in hello.nouns and self._subject.export is not None:
                witness.call(self._subject.export)
            return reading.dump(witness, store, self._fleet, subject)
        finally:
            if witness is not session:
                self._fleet.give_back(witness.door, retired=witness.retired)

    def _judge_answers(self, dump: dict[str, Any], answers: dict[Operation, Refused | None], level: Level) -> None:
        """What was answered is there. A call refused as certainly not done left nothing, and others all or nothing."""
        there = {row[self._subject.id] for row in dump["messages"]}
        if level.of == ROOM:
            self._lasting = there
        for operation, error in answers.items():
            ids = self._subject.repertoire.ids(operation.method, operation.params(self._prepared))
            if error is None:
                for message_id in ids & self._lasting - there:
                    self._tell(level, operation, f"was answered {self._when(level)}, and {message_id} is not there")
            elif error.definite:
                for message_id in ids & there:
                    self._tell(level, operation, f"was refused as certainly not done, and {message_id} is there")
            elif ids & there and ids - there:
                why = f"was refused {self._when(level)} and half done: {short(sorted(ids & there))} is there"
                self._tell(level, operation, why)

    @staticmethod
    def _tell(level: Level, operation: Operation, what: str) -> None:
        level.problems.append(Problem("log", f"{operation.name} {what}"))

    def _call_again(self, session: Session, operation: Operation, level: Level) -> None:
        try:
            session.call(operation.method, **operation.params(self._prepared))
        except DoorError as error:
            if isinstance(error, Refused) and error.code in operation.again:
                return
            level.problems.append(Problem("log", f"{operation.name} fails although there is enough again: {error}"))

    def _keep(self, level: Level, store: Path) -> None:
        kept = self._out / "disk" / level.name
        shutil.rmtree(kept, ignore_errors=True)
        image.copy(store, kept / "store")
        whole = self._work / "level-whole.jsonl"
        if whole.exists():
            shutil.copy(whole, kept / "history.jsonl")


def main() -> None:
    """Play the job from stdin, and say why if that cannot be."""
    try:
        _play(json.load(sys.stdin))
    except NotInItsFolderError as error:
        print(json.dumps({APART: reason(error)}), flush=True)
    except (RunFailed, DoorError, BusSpecError) as error:
        print(json.dumps({FAILED: reason(error)}), flush=True)
    except Exception as error:
        print(json.dumps({FAILED: kit_failed(error)}), flush=True)


def _play(job: dict[str, Any]) -> None:
    with contextlib.closing(Fleet(job["specs"], system=job["system"])) as fleet:
        full = _FullDisk(fleet, Path(job["small"]), Path(job["work"]), Path(job["out"]))
        for what, amount, opened in job["levels"]:
            level = Level(amount, opened, what)
            full.play(level)
            print(json.dumps(vars(level) | {"problems": [vars(p) for p in level.problems]}), flush=True)


if __name__ == "__main__":
    main()
