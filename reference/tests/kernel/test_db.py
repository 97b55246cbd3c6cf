"""The database file: threads, forks, locks, full and failing disks."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import sqlite3
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from refbus.kernel import db
from refbus.kernel.db import Database
from refbus.kernel.errors import BusError, Busy, Corrupt, DiskFull, Internal, InvalidArgument, IoError, PayloadTooLarge
from refbus.worker.bus import WorkerBus

OpenBus = Callable[..., WorkerBus]


def test_every_thread_has_a_connection_of_its_own_and_keeps_it(bus: WorkerBus) -> None:
    """And those of ended threads are closed."""
    mine = bus.db.connection()
    assert bus.db.connection() is mine
    theirs: list[sqlite3.Connection] = []
    for _ in range(2):
        thread = threading.Thread(target=lambda: theirs.append(bus.db.connection()))
        thread.start()
        thread.join()
    assert len({id(mine), *map(id, theirs)}) == 3
    with pytest.raises(sqlite3.ProgrammingError):
        theirs[0].execute("SELECT 1")
    theirs[1].execute("SELECT 1")


def test_a_forked_child_gets_its_own_connection(bus: WorkerBus) -> None:
    """Its parent's would damage the file, without any error."""
    bus.publish("alice", {"type": "t"})
    bus.poll("nobody", wait_ms=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn of forks with threads
        child = os.fork()
    if child == 0:
        code = 1
        signal.alarm(60)  # a lock that a thread of the parent held is held for ever here
        try:
            is_apart = not bus.db._open
            bus.publish("child", {"type": "t"})
            messages = bus.poll("bob", wait_ms=1)["messages"]
            code = 0 if is_apart and len(messages) == 2 and not bus.poll("nobody" * 9, limit=0)["messages"] else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    bus.publish("alice", {"type": "t"})
    assert len(bus.poll("bob")["messages"]) == 3


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Locks are waited for 10 ms."""
    monkeypatch.setattr(db, "BUSY_TIMEOUT_MS", 10)


@pytest.mark.usefixtures("impatient")
def test_a_lock_held_too_long_is_busy_and_definite(open_bus: OpenBus, store: Path) -> None:
    """On one statement and on a transaction alike; reading goes on."""
    bus = open_bus()
    holder = sqlite3.connect(store / "bus.db", isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    for call in (
        lambda: bus.publish("alice", {"type": "t"}),
        lambda: bus.publish_many("alice", [{"type": "t"}]),
        lambda: bus.try_claim_task("t", "alice"),
        lambda: bus.heartbeat("alice", "idle"),
    ):
        with pytest.raises(Busy) as caught:
            call()
        assert caught.value.definite
    assert bus.poll("bob") == {"messages": []}
    holder.execute("ROLLBACK")
    holder.close()
    assert bus.publish("alice", {"type": "t"})["seq"] == 1


@pytest.mark.usefixtures("impatient")
def test_a_lock_that_is_released_in_time_is_waited_for(open_bus: OpenBus, store: Path) -> None:
    """By retries, where SQLite's own patience is too short."""
    bus = open_bus()
    holder = sqlite3.connect(store / "bus.db", isolation_level=None, check_same_thread=False)
    holder.execute("BEGIN IMMEDIATE")
    release = threading.Timer(0.03, lambda: holder.execute("ROLLBACK"))
    release.start()
    bus.publish("alice", {"type": "t"})
    release.join()
    holder.close()


def test_a_full_disk_is_definite_and_over_when_there_is_room(bus: WorkerBus) -> None:
    """Rolled back, and the connection is replaced: a full disk may have broken it for good."""
    connection = bus.db.connection()
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    connection.execute(f"PRAGMA max_page_count = {pages}")
    stored = 0
    with pytest.raises(DiskFull) as caught:
        while True:
            bus.publish("alice", {"type": "t", "payload": "x" * 4000})
            stored += 1
    assert caught.value.definite
    assert bus.db.connection() is not connection
    bus.publish("alice", {"type": "t"})
    assert len(bus.poll("bob", limit=10_000)["messages"]) == stored + 1
    assert bus.dump()["integrity"] == "ok"


def test_a_full_disk_in_a_batch_leaves_none_of_it(bus: WorkerBus) -> None:
    """All or none."""
    connection = bus.db.connection()
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    connection.execute(f"PRAGMA max_page_count = {pages + 5}")
    with pytest.raises(DiskFull) as caught:
        bus.publish_many("alice", [{"type": "t", "payload": "x" * 4000}] * 100)
    assert caught.value.definite
    assert bus.poll("bob") == {"messages": []}


def test_a_file_that_cannot_be_opened_is_a_definite_error(tmp_path: Path) -> None:
    """Nothing was there to happen to; and there is no connection to lose."""
    database = Database(tmp_path / "nowhere" / "bus.db")
    with pytest.raises(IoError) as caught:
        database.rows("SELECT 1")
    assert caught.value.definite
    database.close_mine()
    database.close()


def fails_with(code: int, name: str = "SQLITE_TEST") -> sqlite3.OperationalError:
    """An error as SQLite raises it."""
    error = sqlite3.OperationalError("it failed")
    error.sqlite_errorcode, error.sqlite_errorname = code, name
    return error


@pytest.mark.parametrize(
    ("code", "kind", "definite"),
    [
        (sqlite3.SQLITE_BUSY, Busy, True),
        (sqlite3.SQLITE_BUSY_SNAPSHOT, Busy, True),
        (sqlite3.SQLITE_LOCKED, Busy, True),
        (sqlite3.SQLITE_PROTOCOL, Busy, True),
        (sqlite3.SQLITE_FULL, DiskFull, True),
        (sqlite3.SQLITE_CONSTRAINT_NOTNULL, InvalidArgument, True),
        (sqlite3.SQLITE_MISMATCH, InvalidArgument, True),
        (sqlite3.SQLITE_TOOBIG, PayloadTooLarge, True),
        (sqlite3.SQLITE_CORRUPT, Corrupt, False),
        (sqlite3.SQLITE_NOTADB, Corrupt, False),
        (sqlite3.SQLITE_IOERR_FSYNC, IoError, False),
        (sqlite3.SQLITE_CANTOPEN, IoError, True),
        (sqlite3.SQLITE_READONLY_DBMOVED, IoError, True),
        (sqlite3.SQLITE_PERM, IoError, False),
        (sqlite3.SQLITE_NOMEM, Internal, False),
    ],
)
def test_every_error_of_sqlite_has_a_name_and_says_whether_it_happened(
    code: int, kind: type[BusError], definite: bool
) -> None:
    """A failed commit is the case where nobody knows."""
    mapped = db.fault(fails_with(code), definite=False)
    assert type(mapped) is kind
    assert mapped.definite is definite
    if kind is not Corrupt:
        assert db.fault(fails_with(code), definite=True).definite


def test_an_error_without_a_code_is_internal(caplog: pytest.LogCaptureFixture) -> None:
    """A closed connection, a wrong thread: our own fault, whose words are for the log and not for a caller."""
    mapped = db.fault(sqlite3.ProgrammingError("closed"), definite=False)
    assert mapped.code == "INTERNAL" and "closed" not in str(mapped) and "closed" in caplog.text


class Flaky:
    """A connection that fails with given errors at statements that start so, then works."""

    def __init__(self, connection: sqlite3.Connection, start: str, *errors: sqlite3.Error) -> None:
        self._connection, self._start, self._errors = connection, start, list(errors)
        self.is_closed = False

    def execute(self, sql: str, values: Any = ()) -> Any:
        if sql.strip().startswith(self._start) and self._errors:
            raise self._errors.pop(0)
        return self._connection.execute(sql, values)

    def close(self) -> None:
        self.is_closed = True
        self._connection.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)


def plant(database: Database, start: str, *errors: sqlite3.Error) -> Flaky:
    """Put a flaky connection in this thread's place."""
    flaky = Flaky(database.connection(), start, *errors)
    database._local.connection = flaky
    database._open[threading.current_thread()] = flaky  # type: ignore[assignment]
    return flaky


def test_an_error_at_commit_means_unknown_and_a_new_connection(bus: WorkerBus) -> None:
    """With synchronous = FULL the message may be there after recovery; a retry by id tells."""
    flaky = plant(bus.db, "COMMIT", fails_with(sqlite3.SQLITE_IOERR_FSYNC))
    with pytest.raises(IoError) as caught:
        bus.publish_many("alice", [{"type": "t", "id": "m1"}])
    assert not caught.value.definite
    assert flaky.is_closed
    assert bus.publish("alice", {"type": "t", "id": "m1"})["id"] == "m1"


def test_an_error_before_commit_is_definite(bus: WorkerBus) -> None:
    """It is rolled back."""
    plant(bus.db, "INSERT OR REPLACE INTO task_tokens", fails_with(sqlite3.SQLITE_IOERR))
    with pytest.raises(IoError) as caught:
        bus.try_claim_task("t", "alice")
    assert caught.value.definite
    assert bus.try_claim_task("t", "alice")["token"] == 1


def test_a_single_statement_that_failed_may_have_happened(bus: WorkerBus) -> None:
    """Its commit is inside it."""
    plant(bus.db, "INSERT INTO messages", fails_with(sqlite3.SQLITE_IOERR_WRITE))
    with pytest.raises(IoError) as caught:
        bus.publish("alice", {"type": "t"})
    assert not caught.value.definite


@pytest.mark.parametrize("start", ["INSERT INTO messages", "BEGIN", "SELECT seq, id"])
def test_a_stale_connection_is_replaced_and_the_work_done(bus: WorkerBus, start: str) -> None:
    """One ENOSPC while opening leaves it read-only for good."""
    flaky = plant(bus.db, start, fails_with(sqlite3.SQLITE_READONLY))
    bus.publish("alice", {"type": "t"})
    bus.try_claim_task("t", "alice")
    assert len(bus.poll("bob")["messages"]) == 1
    assert flaky.is_closed


def test_what_stays_read_only_is_an_error(bus: WorkerBus, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second connection in the same state is no accident."""
    plant(bus.db, "INSERT", fails_with(sqlite3.SQLITE_READONLY))
    connect = bus.db._connect
    monkeypatch.setattr(
        bus.db, "_connect", lambda: (connect(), plant(bus.db, "INSERT", fails_with(sqlite3.SQLITE_READONLY)))[1]
    )
    with pytest.raises(IoError) as caught:
        bus.publish("alice", {"type": "t"})
    assert caught.value.definite


def test_a_rollback_that_fails_closes_the_connection(bus: WorkerBus) -> None:
    """Closing rolls back."""
    flaky = plant(bus.db, "ROLLBACK", fails_with(sqlite3.SQLITE_IOERR))
    with pytest.raises(ZeroDivisionError), bus.db.transaction() as connection:
        connection.execute("INSERT INTO meta VALUES ('x', 'y')")
        raise ZeroDivisionError
    assert flaky.is_closed
    assert bus.db.row("SELECT 1 FROM meta WHERE key = 'x'") is None


def test_an_error_while_reading_bad_text_is_mapped(bus: WorkerBus) -> None:
    """The second attempt may fail, too."""
    bad_text = sqlite3.OperationalError("Could not decode to UTF-8 column 'x'")
    plant(bus.db, "SELECT 1", bad_text, fails_with(sqlite3.SQLITE_IOERR))
    with pytest.raises(IoError):
        bus.db.rows("SELECT 1")
    assert bus.db.rows("SELECT 1") == [(1,)]


def test_a_damaged_page_is_corrupt(open_bus: OpenBus, store: Path) -> None:
    """Not an empty log."""
    bus = open_bus()
    bus.publish_many("alice", [{"type": "t", "payload": "x" * 3000}] * 50)
    bus.close()
    path = store / "bus.db"
    data = bytearray(path.read_bytes())
    for page in range(2, len(data) // 4096):
        data[page * 4096 : page * 4096 + 100] = b"\xff" * 100
    path.write_bytes(data)
    with pytest.raises(Corrupt):
        open_bus().poll("bob")


def test_a_connection_that_sqlite_opened_read_only_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As it does when the file could not be opened for writing once: chaos found it by an EIO at openat."""
    path = tmp_path / "bus.db"
    with contextlib.closing(Database(path)) as first:
        first.write("CREATE TABLE t (x)")
    connect, opened = sqlite3.connect, []

    def read_only_at_first(database: Path, **how: Any) -> sqlite3.Connection:
        opened.append(database)
        if len(opened) == 1:
            return connect(f"file:{database}?mode=ro", uri=True, **how)
        return connect(database, **how)

    monkeypatch.setattr(sqlite3, "connect", read_only_at_first)
    with contextlib.closing(Database(path)) as database:
        assert database.rows("SELECT x FROM t") == []
        with database.transaction() as connection:
            connection.execute("INSERT INTO t VALUES (1)")
        assert database.rows("SELECT x FROM t") == [(1,)]
    assert len(opened) == 2


def test_no_statement_numbers_its_placeholders() -> None:
    """Python 3.14 refuses `?1` with a tuple, and 3.12 warns of it: they have names, or no number."""
    root = Path(db.__file__).parents[1]
    numbered = [path for path in root.rglob("*.py") if re.search(r"\?\d", path.read_text(encoding="utf-8"))]
    assert numbered == []
