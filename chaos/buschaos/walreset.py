"""`python -m buschaos.walreset`: a known fault of SQLite, forced on the library of this Python, every time.

Two checkpoints and a commit meet: the second checkpoint stands still after it has looked at the index of the log and
before it uses the figure it saw (if the database is mapped, a system call lies between the two). Meanwhile a writer
commits, and the log begins anew. Then the second checkpoint writes its old figure, the next one believes it, and pages
that were committed never reach the database. `python -m buschaos.walreset apsw` plays it on the SQLite of that package.

From 3.7.0 to 3.51.2 but for 3.44.6 and 3.50.7 on; `busproof doctor` warns of these (`oddities.library`).
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from buschaos.bus import RunFailed
from buschaos.nemeses import bpf
from buschaos.nemeses.syscalls import Change, Continue, Hold, Supervision, Verdict, why_unavailable
from busproof.bus.base import DoorError
from busproof.bus.child import Household
from busproof.oddities.library import parsed, resets_wrongly
from busproof.words import say

LIMIT_S = 30.0
ROW_BYTES = 3000
_CONNECTION = """
import json, sys
path, library = sys.argv[1:]
sys.path += json.loads(sys.stdin.readline())
if library == "apsw":
    import apsw
    db = apsw.Connection(path)
else:
    import sqlite3
    db = sqlite3.connect(path, isolation_level=None)
for line in sys.stdin:
    try:
        told = db.execute(json.loads(line)).fetchall()
    except Exception as error:
        told = str(error)
    print(json.dumps(told), flush=True)
"""


class _Connection:
    """A process with the database open: one statement per line in, its rows in one line out."""

    def __init__(self, household: Household, database: Path, library: str) -> None:
        self.child: Any = household.spawn([sys.executable, "-I", "-S", "-c", _CONNECTION, str(database), library])
        self.child.write_line(json.dumps(sys.path).encode())

    def begin(self, statement: str) -> None:
        """Ask, and do not wait."""
        self.child.write_line(json.dumps(statement).encode())

    def end(self) -> Any:
        """The result of the statement; a text if it failed."""
        return json.loads(self.child.read_line("SQLite", LIMIT_S))

    def __call__(self, statement: str) -> Any:
        self.begin(statement)
        return self.end()


@contextlib.contextmanager
def _connection(household: Household, database: Path, library: str) -> Iterator[_Connection]:
    connection = _Connection(household, database, library)
    try:
        yield connection
    finally:
        connection.child.kill()
        household.end()


@contextlib.contextmanager
def _held(child: Any, folder: Path) -> Iterator[threading.Event]:
    """The first mapping that the process gives back waits; the event is set when it stands there."""
    hold, stands = Hold(), threading.Event()

    def decide(change: Change) -> Verdict:
        if change.call not in bpf.UNMAPS or stands.is_set():
            return Continue()
        stands.set()
        return hold

    with child.watched(folder, decide):
        try:
            yield stands
        finally:
            hold.released.set()


def lost(folder: Path, library: str = "sqlite3") -> tuple[str, list[int] | str]:
    """Play it in an empty folder. The library's version; the rows that were acknowledged and are not there.

    If the file cannot be read, SQLite's words about it instead.
    """
    database = folder / "a.db"
    with _connection(Household(), database, library) as writer:
        ((version,),) = writer("SELECT sqlite_version()")
        for statement in ("PRAGMA journal_mode = WAL", "PRAGMA wal_autocheckpoint = 0", "CREATE TABLE m (id, filling)"):
            writer(statement)
        writer("PRAGMA wal_checkpoint(TRUNCATE)")
        with _connection(Supervision(bpf.UNMAPS), database, library) as checkpointer:
            checkpointer("PRAGMA mmap_size = 1048576")
            checkpointer("SELECT count(*) FROM m")
            acknowledged = [row for row in range(12) if _insert(writer, row)]
            writer("PRAGMA wal_checkpoint(PASSIVE)")
            with _held(checkpointer.child, folder) as stands:
                checkpointer.begin("PRAGMA wal_checkpoint(PASSIVE)")
                if not stands.wait(LIMIT_S):
                    raise RunFailed("the second checkpoint never gave its mapping back, so it could not be held")
                acknowledged += [12] if _insert(writer, 12) else []
            checkpointer.end()
            acknowledged += [row for row in range(13, 18) if _insert(writer, row)]
            writer("PRAGMA wal_checkpoint(TRUNCATE)")
    return version, _missing(database, acknowledged)


def _insert(writer: _Connection, row: int) -> bool:
    return bool(writer(f"INSERT INTO m VALUES ({row}, zeroblob({ROW_BYTES}))") == [])


def _missing(database: Path, acknowledged: list[int]) -> list[int] | str:
    """The missing rows, by a process that was not there."""
    with contextlib.closing(sqlite3.connect(database)) as db:
        try:
            verdicts = [row[0] for row in db.execute("PRAGMA integrity_check(3)")]
            there = {row[0] for row in db.execute("SELECT id FROM m")}
        except sqlite3.DatabaseError as error:
            return str(error)
    return [row for row in acknowledged if row not in there] if verdicts == ["ok"] else "; ".join(verdicts)


def main() -> int:
    """Exit 0: nothing is lost; 1: the fault is there; 2: it could not be played."""
    if why := why_unavailable():
        say(f"could not run: {why}", sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="busproof-walreset-") as folder:
        try:
            version, lost_rows = lost(Path(folder).resolve(), *sys.argv[1:2])
        except (RunFailed, DoorError) as error:
            say(f"could not run: {error}", sys.stderr)
            return 2
    known = "has the WAL-reset fault" if resets_wrongly(parsed(version)) else "is said to be repaired"
    say(f"SQLite {version} {known}; acknowledged and lost: {lost_rows or 'nothing'}")
    return 1 if lost_rows else 0


if __name__ == "__main__":
    sys.exit(main())
