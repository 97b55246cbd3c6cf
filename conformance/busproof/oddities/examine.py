"""`busproof doctor --bus sqlite:PATH` and `files:DIR`: the oddities and notes of a file or folder."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from busproof.contract import CONTRACTS
from busproof.oddities import jetstream, library
from busproof.oddities.common import some
from busproof.systems import SYSTEMS
from busproof.words import one_line, say


def _places() -> Iterator[str]:
    """The paths from the named folder, which may stand anywhere on the way, to the file that is meant."""
    for contract in CONTRACTS.values():
        parts = contract.store.parts
        yield from (str(PurePosixPath(*parts[begin:])) for begin in range(len(parts)))


@dataclass(frozen=True)
class Findings:
    """The findings of one place."""

    place: Path | str
    said: str  # the kind it is taken for
    odd: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def tell(self) -> int:
        """Print it. Exit 0: nothing odd; 1: something is."""
        say(f"{self.place}, {self.said}")
        for oddity in self.odd:
            say(f"  ODD    {one_line(oddity)}")
        for note in self.notes:
            say(f"  note   {one_line(note)}")
        say(f"{self.place}: {f'{len(self.odd)} oddities' if self.odd else 'nothing odd'}")
        return 1 if self.odd else 0


def examine(path: Path, system: str | None = None, now_ms: int | None = None) -> int:
    """Print the findings. Exit 0: nothing odd; 1: something is; 2: there is no such file."""
    place = store_in(path) or path
    if not place.is_file():
        say(f"there is no {path / next(_places()) if path.is_dir() else path}")
        return 2
    return in_store(place, system, now_ms).tell()


def examine_folder(folder: Path, now_ms: int | None = None) -> int:
    """The same for a folder of `relay`, which an agent may have made before there is a ledger."""
    if (folder / CONTRACTS["relay"].store).is_file():
        return examine(folder, "relay", now_ms)
    if not (folder / "agents").is_dir():
        say(f"there is no folder of agents in {folder}")
        return 2
    return in_files(folder, now_ms).tell()


def store_in(path: Path) -> Path | None:
    """The database of a bus: this file, or the one in this folder."""
    places = [path / place for place in _places()] if path.is_dir() else [path]
    return next((place for place in places if place.is_file()), None)


def in_store(path: Path, system: str | None = None, now_ms: int | None = None) -> Findings:
    """The findings of a database, and of the files beside it."""
    now_ms = time.time_ns() // 1_000_000 if now_ms is None else now_ms
    odd: list[str] = []
    noted: list[str] = []
    what = "which is no database"
    try:
        with tempfile.TemporaryDirectory(prefix="busproof-") as folder, _copy(path, Path(folder)) as db:
            system = system or _system_of(db)
            what = f"as a {system} bus"
            odd += _health(db)
            odd += (other_schema := list(_schema(db, CONTRACTS[system].tables)))
            if views := _names(db, "view") & _tables_of(system):
                odd.append(f"{some(sorted(views))} are views, and a view may have no end: no row was looked at")
                return Findings(path, what, odd)
            for looks, findings in ((SYSTEMS[system].oddities, odd), (SYSTEMS[system].notes, noted)):
                for look in looks:
                    try:
                        findings += look(db, path.parent, now_ms)
                    except sqlite3.OperationalError:
                        if not other_schema:  # the missing parts were told; the rest can still be looked at
                            raise
    except sqlite3.DatabaseError as error:
        odd.append(f"it cannot be read as an SQLite database: {error}")
    return Findings(path, what, odd, [*noted, *library.warnings([path])])


def in_server(url: str, creds: str | None) -> Findings:
    """The findings of the JetStream there. Raises jetstream.Unreachable."""
    return Findings(url, "as the JetStream of a timeline bus", *jetstream.look(url, creds))


def in_files(folder: Path, now_ms: int | None = None) -> Findings:
    """The findings of agents' files without a ledger."""
    now_ms = time.time_ns() // 1_000_000 if now_ms is None else now_ms
    odd: list[str] = []
    with closing(sqlite3.connect(":memory:")) as db:
        db.executescript(CONTRACTS["relay"].tables)
        for look in SYSTEMS["relay"].oddities:
            odd += look(db, folder, now_ms)
    return Findings(folder, "as files of agents, without a ledger", odd)


def _copy(path: Path, folder: Path) -> closing[sqlite3.Connection]:
    """As of one moment, even while others write: SQLite's own backup. A file that it cannot read is copied as it is."""
    if not _backed_up(path, folder / path.name):
        for name in (path.name, f"{path.name}-wal"):
            if (path.parent / name).exists():
                shutil.copyfile(path.parent / name, folder / name)
    db = sqlite3.connect(folder / path.name)
    db.row_factory = sqlite3.Row
    return closing(db)


def _backed_up(path: Path, copy: Path) -> bool:
    if library.has_log(path) and not path.with_name(f"{path.name}-wal").exists():
        return False  # nobody has it open, and to open it would leave files beside it
    try:
        with (
            closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as live,
            closing(sqlite3.connect(copy)) as into,
        ):
            live.backup(into)
    except sqlite3.DatabaseError:
        copy.unlink(missing_ok=True)
        return False
    return True


def _names(db: sqlite3.Connection, kind: str) -> set[str]:
    return {row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = ?", (kind,))}


def _tables_of(system: str) -> set[str]:
    """The tables of the seed."""
    with closing(sqlite3.connect(":memory:")) as seed:
        seed.executescript(CONTRACTS[system].tables)
        return _names(seed, "table")


def _system_of(db: sqlite3.Connection) -> str:
    """The system most of whose tables the file has: it may have lost one, or have any name."""
    return max(CONTRACTS, key=lambda name: len(_tables_of(name) & _names(db, "table")))


def _health(db: sqlite3.Connection) -> Iterator[str]:
    for (line,) in db.execute("PRAGMA integrity_check(10)").fetchall():
        if line != "ok":
            yield f"integrity: {line}"
    if db.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
        yield "the journal is not a write-ahead log: readers and writers block each other"


def _schema(db: sqlite3.Connection, schema: str) -> Iterator[str]:
    """Tables and indexes that the seed has and the file lacks, or has with other columns. More of them are allowed."""
    with closing(sqlite3.connect(":memory:")) as seed:
        seed.executescript(schema)
        wanted = "SELECT name, type FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'"
        for name, kind in seed.execute(wanted).fetchall():
            there = "SELECT 1 FROM sqlite_master WHERE name = ? AND type = ?"
            if db.execute(there, (name, kind)).fetchone() is None:
                yield f"{kind} {name} is missing"
                continue
            info = f"pragma_{'table' if kind == 'table' else 'index'}_info"
            query = f"SELECT name FROM {info}(?)"
            want, have = ([r[0] for r in c.execute(query, (name,)).fetchall()] for c in (seed, db))
            if want != have:
                yield f"{kind} {name} has columns {have}, the seed's are {want}"
