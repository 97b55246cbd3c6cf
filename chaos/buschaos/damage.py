"""`python -m buschaos.damage SYSTEM [BITS] [BUS]`: damage the files of a bus behind its back, and see what it notices.

Bits: single bits are flipped in a store at rest: in the log that killed processes left, and, once the log was moved
into the database, in the database and the files beside it. A process that was not there opens the store, reads and
works on. SQLite has no checksums of pages (decision 0026), so how much is refused, told or silently changed is only a
figure. Two things must hold: no process ends of it, and no blob, which is named by its content, is handed out with
another one.

Files: they are removed, renamed away or replaced under a process that has the store open (decision 0021), before it is
called or while its call waits for a lock that another has. The next process that opens the store must find everything
that the call acknowledged; after a refused pass over a folder, it must find everything that the pass took up.

Exit code: 0 all of this held, 1 it did not, 2 it could not be played.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import sqlite3
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial, reduce
from operator import getitem
from pathlib import Path
from typing import Any

from buschaos import reading, state
from buschaos.bus import RunFailed, must_be_a_process
from buschaos.duet import STAND_S, or_waits, until
from buschaos.inspector import Inspector
from buschaos.nemeses.syscalls import Continue, watched_child, why_unavailable
from buschaos.operations import WHEN_MS, applicable, tell_time
from buschaos.stage import Ground, Stage, Victims
from buschaos.subjects import SUBJECTS
from buschaos.tape import image
from buschaos.tape.image import Image
from busproof.bus.base import DoorError, Lost, Refused
from busproof.bus.fleet import BusSpecError, Fleet, reference
from busproof.bus.scratch import ROOM_OF_FEW_BYTES, scratch
from busproof.bus.session import Session
from busproof.contract.history import Recorder
from busproof.words import say

BITS = 100  # in each kind of file
BITS_OF_RUN = 25  # when it is one act of many
BITS_OF_SLOW_STARTERS = 5
AT_WORK_S = 0.2  # longer than the ticks in which a file system counts the time of a folder
DID_NOT_WAIT = "the call did not wait"
Way = Callable[[Path], Callable[[], None]]  # prepares the damage, and returns the function that does it
KINDS = ("log", "database", "blob", "other")


def kind_of(path: str) -> str:
    """The kind of file at this path."""
    if path.endswith("-wal"):
        return "log"
    if path.endswith((".db", ".sqlite")):
        return "database"
    return "blob" if "sha256" in path else "other"


def flipped(whole: Image, kind: str, dice: random.Random) -> tuple[Image, str] | None:
    """One bit of one file of this kind, each as likely as any other; None where there is none."""
    paths = sorted(path for path, data in whole.files.items() if data and kind_of(path) == kind)
    if not paths:
        return None
    (path,) = dice.choices(paths, [len(whole.files[path]) for path in paths])
    data = bytearray(whole.files[path])
    place = dice.randrange(8 * len(data))
    data[place // 8] ^= 1 << place % 8
    return replace(whole, files={**whole.files, path: bytes(data)}), f"bit {place} of {path}"


class Damage:
    """Damages copies of one prepared store."""

    def __init__(self, ground: Ground, work: Path, out: Path) -> None:
        self._ground, self._work, self._out, self._number = ground, work, out, 0
        self._left = image.of(ground.template)
        self.problems: list[tuple[str, Path]] = []  # each with the history that shows it
        operations = [op for op in ground.subject.repertoire.operations if applicable(op, ground.fleet.hello)]
        stores = (op for op in operations if ground.subject.repertoire.ids(op.method, op.params(ground.prepared)))
        operation = next(stores, None)
        if operation is None:
            raise RunFailed("no operation of this system stores something under an id of its own, to be looked for")
        self._operation = operation

    # -- bits

    def bits(self, kind: str, count: int, seed: int) -> Counter[str]:
        """Flip so many bits, one at a time, and count how it ended."""
        dice = random.Random(f"damage {kind} {seed}")
        whole = self._left if kind == "log" else self._closed()
        with contextlib.closing(self._stage(whole)) as stage:
            sound, _ = stage.find()
        ends: Counter[str] = Counter()
        for _ in range(count):
            if (drawn := flipped(whole, kind, dice)) is not None:
                ends[self._end(*drawn, kind, sound)] += 1
        return ends

    def _closed(self) -> Image:
        """The store once somebody has opened and closed it."""
        folder = self._work / f"damage-closed-{self._number}"
        image.copy(self._ground.template, folder)
        door = self._ground.fleet.door(0, folder, {})
        if door.serves_many:
            door.call("close", {})
        door.close()
        return image.of(folder)

    def _stage(self, left: Image) -> Stage:
        self._number += 1
        return Stage(self._ground, self._operation, self._work / f"damage-{self._number}", left)

    def _end(self, left: Image, where: str, kind: str, sound: dict[str, Any]) -> str:
        with contextlib.closing(self._stage(left)) as stage:
            try:
                left_state, evidence = stage.find()
                stage.work_on()
            except Refused as error:
                return f"refused {error.code}"
            except DoorError as error:
                self._found(f"{where}: {error}", stage)
                return "ended the process"
            complaints = list(state.health(evidence))
            polled = [event.value for event in stage.events() if event.type == "ok" and event.op == "poll"]
            rows = [row for reply in polled for row in reply.get("messages", [])]
            if complaints or any(row.get("payload_error") for row in rows):
                return "told"
            if kind == "blob" and any(row.get("payload") != self._payload(row["id"]) for row in rows):
                self._found(f"{where}: a blob is handed out with another content", stage)
        tables = state.tables(left_state), state.tables(sound)
        return "without effect" if tables[0] == tables[1] else "silently another state"

    def _found(self, why: str, stage: Stage) -> None:
        kept = stage.keep(self._out / str(self._number), why)
        self.problems.append((why, kept / "history.jsonl"))

    def _payload(self, id_: str) -> Any:
        promises = {promise.id: promise for promise in self._ground.subject.truth.promises(self._ground.events)}
        return promises[id_].message.get("payload") if id_ in promises else None

    # -- files

    def files(self) -> Iterator[tuple[str, str]]:
        """Each way to take a file from under a live process, and how it ended."""
        return ((what, take()) for what, take in self.ways())

    def ways(self) -> list[tuple[str, Callable[[], str]]]:
        """Each way as a function that tells how it ended. The supervisor sees whether a call waits."""
        ways: list[tuple[str, Callable[[], str]]] = []
        names = sorted(path for path in self._left.files if kind_of(path) in ("log", "database"))
        for name in names:
            for way, do in (WAYS_OF_A_DATABASE if kind_of(name) == "database" else WAYS).items():
                ways.append((f"{name} {way}", partial(self.under_a_live_one, name, do)))
                if why_unavailable() is None:
                    waiting = partial(self.under_a_live_one, name, do, waits=True)
                    ways.append((f"{name} {way} while a call waits", waiting))
        return ways

    def under_a_live_one(self, name: str, do: Way, *, waits: bool = False) -> str:
        """Take the file in one such way; return how it ended."""
        self._number += 1
        folder = self._work / f"damage-{self._number}"
        folder.mkdir()
        store = folder / "store"
        image.copy(self._ground.template, store)
        with contextlib.closing(
            Recorder(folder / "h.jsonl", run="damage", system=self._ground.fleet.system)
        ) as recorder:
            live = self._come(store, recorder, 2, is_watched=waits)
            params = self._operation.params(self._ground.prepared)
            catch_up, answer = self._ground.subject.catch_up, "acknowledged"
            call = partial(live.call, self._operation.method, **params)
            try:
                if catch_up is None:
                    self._make_it_work(live, params)
                take = do(store / name)
                if not waits:
                    take()
                    call()
                elif not _takes_while_it_waits(live, store, name.removesuffix("-wal"), call, take):
                    return DID_NOT_WAIT
            except Refused as error:
                answer = f"refused {error.code}"
                if catch_up is None:
                    return answer
            except Lost as error:
                self._keep(folder, f"{name}: {error}")
                return "ended the process"
            finally:
                self._let_go(live, is_watched=waits)
            try:
                other = self._come(store, recorder, 3)
            except DoorError as error:
                end = f"{answer}, and nobody can work on the store: {error}"
                if answer == "acknowledged":
                    self._keep(folder, f"{name}: {end}")
                return end
            if catch_up is not None:
                other.call(catch_up)
            dump = reading.dump(other, store, self._ground.fleet, self._ground.subject)
            self._let_go(other)
        there = {row[self._ground.subject.id] for row in dump[self._ground.subject.table]}
        if missing := self._ground.subject.repertoire.ids(self._operation.method, params) - there:
            self._keep(folder, f"{name}: {answer}, and lost: {state.short(sorted(missing))}")
            return f"{answer}, and lost"
        return f"{answer}, and found"

    def _make_it_work(self, live: Session, params: dict[str, Any]) -> None:
        """Call it for other messages: a process that has been at work for a while remembers what it has looked at.

        Raises RunFailed if that is refused: nothing is damaged yet.
        """
        time.sleep(AT_WORK_S)
        refused: Refused | None = None
        for others in self.of_another_id(params):
            try:
                live.call(self._operation.method, **others)
            except Refused as error:
                refused = error
                continue
            time.sleep(AT_WORK_S)  # the first call may make a file: the process looks at its folder once more
            with contextlib.suppress(Refused):  # of a bus that takes nothing twice; nothing is damaged yet
                live.call(self._operation.method, **others)
            return
        raise RunFailed(f"{self._operation.name} is refused before anything is damaged: {refused}")

    def stored(self) -> tuple[Callable[[dict[str, Any]], set[str]], dict[str, Any]]:
        """The ids of the things that a call stores, and the parameters of the one that is made."""
        ids = partial(self._ground.subject.repertoire.ids, self._operation.method)
        return ids, self._operation.params(self._ground.prepared)

    def of_another_id(self, params: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """The same call for something else: another id where it names one, or one of its texts changed."""
        ids, _ = self.stored()
        named = json.dumps(params)
        for id_ in ids(params):
            named = named.replace(id_, _changed(id_))
        if (others := json.loads(named)) != params:
            yield others
        for path in texts(params):
            others = json.loads(json.dumps(params))
            *way, last = path
            at = reduce(getitem, way, others)
            at[last] = _changed(at[last])
            with contextlib.suppress(KeyError, ValueError, TypeError):  # a call that the system does not know
                if not ids(params) & ids(others):
                    yield others

    def _keep(self, folder: Path, why: str) -> None:
        kept = self._out / str(self._number)
        image.copy(folder, kept)
        self.problems.append((why, kept / "h.jsonl"))

    def _come(self, store: Path, recorder: Recorder, number: int, *, is_watched: bool = False) -> Session:
        if is_watched:
            door = self._ground.victims.take()
            door.call("open", {"store": str(store), "options": {}})
        else:
            door = self._ground.fleet.door(0, store, {})
        session = Session(door, recorder, process=number, agent="alice")
        enter = self._ground.subject.enter
        try:
            tell_time(session, self._ground.fleet.hello, WHEN_MS)
            if enter is not None:
                enter(session, self._ground.prepared)
        except DoorError:
            self._let_go(session, is_watched=is_watched)
            raise
        return session

    def _let_go(self, session: Session, *, is_watched: bool = False) -> None:
        if is_watched:
            session.door.kill()
        else:
            self._ground.fleet.give_back(session.door, retired=True)


def _changed(text: str) -> str:
    return text[:-1] + ("1" if text[-1:] == "0" else "0")


def texts(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The place of each text in a JSON value."""
    if isinstance(value, str):
        yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, member in items:
        yield from texts(member, (*path, name))


def _takes_while_it_waits(
    live: Session, store: Path, database: str, call: Callable[[], object], take: Callable[[], None]
) -> bool:
    """Take the file when the call waits for a lock that another has. False: it waits for no lock, or another one."""
    with watched_child(live.door).watched(store, lambda _: Continue()) as watch, ThreadPoolExecutor(1) as pool:
        with _locked(store / database):
            called = pool.submit(call)
            until(or_waits(live.door, watch, called.done), STAND_S)
            if called.done():
                return False
            take()
        called.result()
    return True


def _remove(path: Path) -> Callable[[], None]:
    return partial(path.unlink, missing_ok=True)


def _rename(path: Path) -> Callable[[], None]:
    return lambda: _move(path, path.with_name(path.name + ".away"))


def _replace(path: Path) -> Callable[[], None]:
    """Replace it as a restored backup does. The copy is made before, as closing the file ends this process's locks."""
    copy = path.with_name(path.name + ".copy")
    with contextlib.suppress(FileNotFoundError):
        shutil.copy(path, copy)
    return lambda: _move(copy, path)


def _restore_the_folder(path: Path) -> Callable[[], None]:
    """Put a copy in the place of its folder, of the same age: a look at the folder's time alone sees no difference."""
    folder = path.parent
    copy, away = folder.with_name(folder.name + ".copy"), folder.with_name(folder.name + ".away")
    image.copy(folder, copy)

    def put() -> None:
        folder.rename(away)
        copy.rename(folder)
        seen = away.stat()  # not as it was when it was copied: it may have changed since
        os.utime(folder, ns=(seen.st_atime_ns, seen.st_mtime_ns))

    return put


def _move(path: Path, to: Path) -> None:
    with contextlib.suppress(FileNotFoundError):
        path.replace(to)


WAYS: dict[str, Way] = {"removed": _remove, "renamed away": _rename, "replaced": _replace}
WAYS_OF_A_DATABASE = WAYS | {"restored, with its folder,": _restore_the_folder}


@contextlib.contextmanager
def _locked(database: Path) -> Iterator[None]:
    """Write to it from outside, if it is SQLite's and lets others write: other writers have to wait."""
    with contextlib.ExitStack() as held:
        with contextlib.suppress(sqlite3.Error):
            uri = f"{database.absolute().as_uri()}?mode=rw"
            other = held.enter_context(contextlib.closing(sqlite3.connect(uri, uri=True, isolation_level=None)))
            other.execute("BEGIN IMMEDIATE")
        yield


@contextlib.contextmanager
def damaging(spec: str, system: str, out: Path) -> Iterator[Damage]:
    """A bus with a prepared store to be damaged; evidence of problems is kept in `out`."""
    must_be_a_process(spec)
    subject = SUBJECTS[system]
    with (
        scratch("damage", room_bytes=ROOM_OF_FEW_BYTES) as work,
        contextlib.closing(Fleet([spec], system=system)) as fleet,
        contextlib.closing(Victims(spec, system, start_ahead=False)) as victims,
        Inspector(system) as inspector,
    ):
        yield Damage(Ground.new(subject, fleet, victims, inspector, work / "prepared"), work, out)


def main() -> int:
    """Do the damage, and report."""
    system, *more = sys.argv[1:]
    count = int(more[0]) if more else BITS
    spec = more[1] if len(more) > 1 else reference(system)
    try:
        with damaging(spec, system, Path("busproof-out/damage")) as damage:
            for kind in KINDS:
                if ends := damage.bits(kind, count, seed=1):
                    counts = ", ".join(f"{end} {times}" for end, times in ends.most_common())
                    say(f"{ends.total()} bits of the {kind}: {counts}")
            for what, end in damage.files():
                say(f"{what}: {end}")
            for problem, history in damage.problems:
                say(f"✗ {problem}; evidence: {history}")
            return 1 if damage.problems else 0
    except (RunFailed, BusSpecError, DoorError) as error:
        say(f"could not run: {error}", sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
