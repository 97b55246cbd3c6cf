"""The state of a store: as the bus dumps it, else as the kit's own participant reads the seed's tables.

If neither is possible, the bus's answers to those who ask are compared (`Subject.shown`).
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from buschaos.state import Shown, short
from buschaos.tape import image
from busproof.bus.base import Door, Refused
from busproof.bus.fleet import Fleet
from busproof.bus.scratch import ROOM_OF_FEW_BYTES, scratch
from busproof.bus.session import Session
from busproof.bus.sqlite import SqliteDoor
from busproof.contract import CONTRACTS, HelloReply
from busproof.contract.history import Recorder

if TYPE_CHECKING:
    from buschaos.subjects.base import Subject

WHY_NOT = "the bus declares neither `dump` nor `sqlite`, so nobody can tell what it stored"
BY_WHAT_IS_SHOWN = "the bus declares neither `dump` nor `sqlite`, so loss is judged by what readers were shown"
LARGE_BYTES = 16 << 20  # a larger database is read from its tables: its dump may not fit into an answer
SHOWN_ONLY = (
    "no `dump` and no `sqlite`: states are compared by what readers are shown; what is acknowledged is out of sight"
)


def can_dump(hello: HelloReply) -> bool:
    """Is there a way to the whole state?"""
    return not {"dump", "sqlite"}.isdisjoint(hello.features)


Read = Callable[[Path], dict[str, Any]]


def can_compare(hello: HelloReply, subject: Subject) -> bool:
    """Can two states be told apart, at least by what readers are shown?"""
    return can_dump(hello) or subject.shown is not None


def suited(subject: Subject, hello: HelloReply) -> Subject:
    """The subject for a bus that says this of itself: if nobody can look from outside, its own answers must do."""
    return subject if can_dump(hello) or subject.shown is None else replace(subject, read=None)


def dump(session: Session, store: Path, fleet: Fleet, subject: Subject) -> dict[str, Any]:
    """The state, recorded as a `dump` of this session; read from outside if the system has a way."""
    hello = fleet.hello
    if subject.read is not None:
        return _as(session, Outside(subject.read, store)).call("dump")
    if "dump" in hello.features and not ("sqlite" in hello.features and _is_large(session, store)):
        return session.call("dump")
    if not can_dump(hello) and subject.shown is not None:
        if {"consumes", "unacked"} & set(hello.features) == {"consumes"}:
            return _drained(session, store, fleet, subject.shown)
        return Shown(subject.shown(session, hello))
    door = SqliteDoor()
    try:
        door.call("hello", {"protocol": ["1"], "system": session.recorder.system})
        door.call("open", {"store": str(store), "options": {}})
        return _as(session, door).call("dump")
    finally:
        door.close()


def _drained(session: Session, store: Path, fleet: Fleet, shown: Callable[[Session, HelloReply], Any]) -> Shown:
    """Where a look takes what it is shown: all that a copy of the store shows. It is no part of the history."""
    with scratch("drained", room_bytes=ROOM_OF_FEW_BYTES) as folder:
        image.copy(store, folder / "store")
        with contextlib.closing(Recorder(folder / "drained.jsonl", run="drained", system=fleet.system)) as recorder:
            reader = Session(fleet.door(1, folder / "store", {}), recorder, process=session.process, agent="bob")
            try:
                if session.now_ms is not None:
                    reader.set_clock(session.now_ms)
                return Shown(shown(reader, fleet.hello))
            finally:
                fleet.give_back(reader.door, retired=reader.retired or not reader.door.serves_many)


def with_ledger(session: Session, hello: HelloReply, subject: Subject) -> Subject:
    """The subject, whose files are read beside the ledger that this session tells, if that is of a form of its own."""
    read = subject.read
    if read is None or "sqlite" in hello.features or "dump" not in hello.features:
        return subject
    tables = session.door.call("dump", {})
    ledger = {subject.table if name == "messages" else name: rows for name, rows in tables.items()}
    return replace(subject, read=lambda store: read(store) | ledger)


def _is_large(session: Session, store: Path) -> bool:
    """May a dump of it be longer than an answer can be (64 MiB)?"""
    path = store / CONTRACTS[session.recorder.system].store
    files = (path, path.with_name(f"{path.name}-wal"))
    return sum(file.stat().st_size for file in files if file.exists()) > LARGE_BYTES


class Endless(Exception):
    """A reading that would not end. `noun`: the noun whose rows that breaks."""

    def __init__(self, noun: str, why: str) -> None:
        super().__init__(why)
        self.noun = noun


def pages(look: Callable[[], list[Any]], key: Callable[[Any], Hashable], noun: str) -> Iterator[list[Any]]:
    """One page after the other until one is empty; the caller should take each page off the bus.

    Raises Endless at a page that shows only messages of earlier pages: it would come for ever.
    """
    seen: set[Hashable] = set()
    while page := look():
        shown = {key(message) for message in page}
        if shown <= seen:
            raise Endless(noun, f"the last reading cannot end: it is shown the same messages again, {short(page[:3])}")
        seen |= shown
        yield page


def _as(session: Session, door: Door) -> Session:
    return Session(door, session.recorder, process=session.process, agent=session.agent)


@dataclass(frozen=True)
class Outside:
    """A door that answers `dump`, from the files alone."""

    read: Read
    store: Path
    stderr = ""
    pid = None
    serves_many = True

    def get_ready(self, system: str) -> None:
        """Nothing is to be done."""

    def call(self, method: str, params: dict[str, Any], *, timeout_s: float = 30.0) -> dict[str, Any]:
        """The state."""
        try:
            return self.read(self.store)
        except (sqlite3.Error, OSError) as error:
            raise Refused("UNREADABLE", str(error), definite=True) from error

    def processes(self) -> list[Path]:
        """None: it is read here."""
        return []

    def kill(self) -> None:
        """Nothing is held."""

    def close(self) -> None:
        """Nothing is held."""


def integrity(path: Path) -> str | None:
    """SQLite's judgement of a database file; None if there is none."""
    if not path.exists():
        return None
    try:
        with contextlib.closing(sqlite3.connect(path, timeout=10, isolation_level=None)) as connection:
            return "; ".join(str(row[0]) for row in connection.execute("PRAGMA integrity_check(10)"))
    except sqlite3.Error as error:
        return f"cannot be read: {error}"
