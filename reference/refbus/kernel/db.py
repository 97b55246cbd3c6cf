"""The database file: one connect, one transaction helper, one place where SQLite's errors become the bus's own.

A single statement is a transaction of its own (`write`): SQLite takes the lock at once, so there is no stale snapshot
to upgrade, and it costs a third of BEGIN, statement, COMMIT. An operation that must judge a loaded row before it stores
uses `transaction`, which is BEGIN IMMEDIATE for the same reason.

A writer, or a reader that begins to wait, checks that the path still leads to the file that is open (`sight`): a
transaction once it has the lock, a single statement beforehand, and afterwards as well if it took its time. Reads do
not: they promise nothing.
"""

from __future__ import annotations

import contextlib
import logging
import os
import random
import sqlite3
import stat
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar

from refbus.kernel.errors import (
    INTERNAL_SAYS,
    BusError,
    Busy,
    Corrupt,
    DiskFull,
    Internal,
    InvalidArgument,
    IoError,
    PayloadTooLarge,
    of_os_error,
)
from refbus.kernel.files import FILE_MODE, sync
from refbus.kernel.rules import retry
from refbus.kernel.sight import Identity, Sight, identity

log = logging.getLogger(__name__)
Seen = TypeVar("Seen")

BUSY_TIMEOUT_MS = 5000
AT_ONCE_S = 0.001  # a statement that took longer may have waited for the lock: SQLite's first nap is as long

_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL}
# After one of these a connection may stay broken for good, even when the disk has recovered: it is replaced.
_NO_ROOM = {sqlite3.SQLITE_IOERR_SHMSIZE}  # the -shm file of an opening store cannot grow
_POISONS = {sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY}
# Those of them that may be the connection's fault alone and are worth one more attempt on a new one.
_STALE = {sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY}


class Database:
    """One file, one persistent connection for each thread that uses it."""

    def __init__(self, path: Path, *, synchronous: str = "NORMAL", pragmas: Sequence[str] = ()) -> None:
        self.path, self._name = path, str(path)
        self._synchronous, self._pragmas = synchronous, pragmas
        self._local = threading.local()
        self._open: dict[threading.Thread, sqlite3.Connection] = {}
        self._file: Identity | None = None  # the file that the path led to when the first connection was made
        self._lock = threading.Lock()
        _databases.add(self)

    def write(self, sql: str, values: Sequence[Any] | dict[str, Any] = ()) -> sqlite3.Cursor:
        """Run one statement as a transaction of its own."""
        attempt = 0
        while True:
            connection = self.connection()
            self.refuse_another_file()
            began_s = time.monotonic()
            try:
                cursor = connection.execute(sql, values)
            except sqlite3.Error as error:
                attempt = self._retry_or_raise(error, attempt, definite=False)
                continue
            if time.monotonic() - began_s > AT_ONCE_S:  # it waited for the lock, or may have
                self.refuse_another_file(definite=False)
            return cursor

    def rows(self, sql: str, values: Sequence[Any] | dict[str, Any] = ()) -> list[Any]:
        """All rows of one statement that reads."""
        attempt = 0
        while True:
            connection = self.connection()
            try:
                return fetch(connection, sql, values)
            except sqlite3.Error as error:
                attempt = self._retry_or_raise(error, attempt, definite=False)

    def row(self, sql: str, values: Sequence[Any] | dict[str, Any] = ()) -> Any:
        """The first row of one statement, or None."""
        rows = self.rows(sql, values)
        return rows[0] if rows else None

    def version(self) -> int:
        """A number that changes when anybody else commits, as this thread's connection sees it."""
        number = self.row("PRAGMA data_version")[0]
        self.refuse_another_file()  # in which nobody commits
        return int(number)

    def transaction(self, begin: str = "BEGIN IMMEDIATE") -> Block[sqlite3.Connection]:
        """Everything in the block or nothing of it."""
        return Block(self, begin, lambda connection: connection)

    def make_durable(self) -> None:
        """Let all commits up to now survive a power cut; with synchronous = FULL they do already. Raises OSError."""
        if self._synchronous != "FULL":
            self._sync_log()

    def _sync_log(self) -> None:
        """Sync the log's own file: the commits of all processes are there, and SQLite has no statement for it.

        SQLite holds no lock on that file, so closing it releases none.
        """
        with contextlib.suppress(FileNotFoundError):  # the last to close it has moved it into the file, durably
            sync(f"{self._name}-wal")

    def connection(self) -> sqlite3.Connection:
        """This thread's connection. A caller that writes through it looks first, as `write` does."""
        try:
            return self._local.connection  # type: ignore[no-any-return]
        except AttributeError:
            return self._connect()

    def close(self) -> None:
        """Close every thread's connection."""
        with self._lock:
            for connection in self._open.values():
                connection.close()
            self._open.clear()
            self._local, self._file = threading.local(), None

    def refuse_another_file(self, *, definite: bool = True) -> None:
        """Raise IO_ERROR unless the path still leads to the file that this thread's connection has open."""
        if not self._local.sight.is_still_true():
            raise self._gone(definite=definite)

    def _gone(self, *, definite: bool = True) -> IoError:
        return IoError(
            f"{self.path} or the log beside it was removed or replaced while it was open; open the store again",
            definite=definite,
        )

    def close_mine(self) -> None:
        """Close this thread's connection; its next use opens another."""
        with self._lock:
            connection = self._open.pop(threading.current_thread(), None)
        self._local.__dict__.pop("connection", None)
        if connection is not None:
            with contextlib.suppress(sqlite3.Error):
                connection.close()

    def _connect(self) -> sqlite3.Connection:
        """The seed's connection set-up. WAL stays in the file, so asking again is cheap."""
        attempt = 0
        while True:
            connection, file = None, self._existing_file()
            try:
                # isolation_level=None: transactions begin where this file says so and nowhere else.
                connection = sqlite3.connect(
                    self.path, isolation_level=None, timeout=BUSY_TIMEOUT_MS / 1000, check_same_thread=False
                )
                connection.execute("PRAGMA foreign_keys = ON")
                (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
                if mode != "wal":
                    connection.close()
                    raise IoError(f"the file system does not carry a write-ahead log ({mode})", definite=True)
                connection.execute(f"PRAGMA synchronous = {self._synchronous}")
                for pragma in self._pragmas:
                    connection.execute(pragma)
                connection.execute("PRAGMA schema_version")  # the first read opens the log
                if self._synchronous == "FULL":
                    # The first to come reads what a killed writer had written and not synced; nobody may build on
                    # that, a retry least of all.
                    self._sync_log()
                break
            except (sqlite3.Error, OSError) as error:
                if connection is not None:
                    connection.close()
                if isinstance(error, OSError):
                    raise of_os_error(error, definite=True) from error
                attempt = self._retry_or_raise(error, attempt, definite=True)
        sight = Sight(self._name)
        if sight.file != file:
            connection.close()
            raise self._gone()
        with self._lock:
            for thread in [thread for thread in self._open if not thread.is_alive()]:
                self._open.pop(thread).close()
            self._open[threading.current_thread()] = connection
            self._file = file
        self._local.connection, self._local.sight = connection, sight
        return connection

    def _existing_file(self) -> Identity | None:
        """Make an empty file where there is none yet, readable for its owner alone; SQLite's own would follow umask.

        It is never opened for that: closing it would release the locks of this process's connections.
        """
        if self._file is None:
            with contextlib.suppress(OSError):  # it is there, or SQLite says why it cannot be
                os.mknod(self.path, stat.S_IFREG | FILE_MODE)
            return identity(self._name)
        if identity(self._name) != self._file:
            raise self._gone()
        return self._file

    def _begin(self, begin: str) -> sqlite3.Connection:
        attempt = 0
        while True:
            connection = self.connection()
            try:
                connection.execute(begin)
                if begin == "BEGIN IMMEDIATE":
                    self.refuse_another_file()  # also one that came while this waited for the lock
                    self._refuse_read_only(connection)
            except sqlite3.Error as error:
                attempt = self._retry_or_raise(error, attempt, definite=True)
            except IoError:
                self._roll_back(connection)
                raise
            else:
                return connection

    def _refuse_read_only(self, connection: sqlite3.Connection) -> None:
        """SQLite opens a file read-only that could not be opened for writing just then, and BEGIN IMMEDIATE on it
        begins a read and says nothing. Asked once a connection, by a write operation that changes nothing."""
        if self._local.__dict__.get("writable") is not connection:
            connection.execute("PRAGMA incremental_vacuum(1)")
            self._local.writable = connection

    def _roll_back(self, connection: sqlite3.Connection) -> None:
        # SQLite has rolled back by itself after some errors.
        if connection.in_transaction:
            try:
                connection.execute("ROLLBACK")
            except sqlite3.Error:
                self.close_mine()  # closing rolls back

    def _retry_or_raise(self, error: sqlite3.Error, attempt: int, *, definite: bool) -> int:
        """Pause and return the number of attempts made, or raise what the error means."""
        code = _primary_code(error)
        if code in _POISONS:
            self.close_mine()
        attempt += 1
        if code in _STALE and attempt == 1:
            return attempt
        pause_ms = retry.lock_backoff_ms(attempt, random.random()) if code in _BUSY else None
        if pause_ms is None:
            raise fault(error, definite=definite) from error
        time.sleep(pause_ms / 1000)
        return attempt


class Block(Generic[Seen]):
    """The context of a transaction: all of its block is committed, or nothing. One object, for speed: a generator for
    each layer would cost a short transaction a tenth. `see` turns the connection into what the block works with.
    """

    __slots__ = ("_begin", "_connection", "_database", "_see")

    def __init__(self, database: Database, begin: str, see: Callable[[sqlite3.Connection], Seen]) -> None:
        self._database, self._begin, self._see = database, begin, see

    def __enter__(self) -> Seen:
        self._connection = self._database._begin(self._begin)
        try:
            return self._see(self._connection)
        except BaseException as error:
            self._undo(error)
            raise

    def __exit__(self, _type: object, error: BaseException | None, _traceback: object) -> None:
        if error is not None:
            self._undo(error)
            return
        try:
            self._connection.execute("COMMIT")
        except sqlite3.Error as failed:
            self._undo(failed, definite=False)

    def _undo(self, error: BaseException, *, definite: bool = True) -> None:
        """Roll back, and raise what an error of SQLite means."""
        self._database._roll_back(self._connection)
        if isinstance(error, sqlite3.Error):
            self._database._retry_or_raise(error, retry.LOCK_ATTEMPTS_MAX, definite=definite)


def fetch(connection: sqlite3.Connection, sql: str, values: Sequence[Any] | dict[str, Any] = ()) -> list[Any]:
    """All rows of one statement, whatever bytes a stranger stored as text."""
    try:
        return connection.execute(sql, values).fetchall()
    except sqlite3.Error as error:
        if hasattr(error, "sqlite_errorcode") or "decode to UTF-8" not in str(error):
            raise
    # A stranger stored bytes that are no UTF-8: one row must not hide the others.
    connection.text_factory = lambda data: data.decode("utf-8", "replace")
    try:
        return connection.execute(sql, values).fetchall()
    finally:
        connection.text_factory = str


def fault(error: sqlite3.Error, *, definite: bool) -> BusError:
    """The bus's error for one of SQLite's. `definite`: the transaction is known to be rolled back."""
    code = _primary_code(error)
    says = f"{error} ({getattr(error, 'sqlite_errorname', type(error).__name__)})"
    if code in _BUSY:
        return Busy(says)
    if code == sqlite3.SQLITE_FULL or getattr(error, "sqlite_errorcode", 0) in _NO_ROOM:
        return DiskFull(says)  # the commit record is the last thing written: without space there is none
    if code in (sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_MISMATCH):
        return InvalidArgument(says)
    if code == sqlite3.SQLITE_TOOBIG:
        return PayloadTooLarge(says)
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return Corrupt(says)
    if code in _POISONS or code in (sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH):
        return IoError(says, definite=definite or code in _STALE)
    log.error("%s", says)
    return Internal(INTERNAL_SAYS, definite=definite)


def _primary_code(error: sqlite3.Error) -> int:
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_MISUSE) & 0xFF


_databases: weakref.WeakSet[Database] = weakref.WeakSet()
_inherited: list[object] = []


def _abandon_after_fork() -> None:
    """A forked child must neither use nor close its parent's connections: both damage the file."""
    for database in list(_databases):
        _inherited.append((database._open, database._local))
        database._open, database._local, database._lock = {}, threading.local(), threading.Lock()


os.register_at_fork(after_in_child=_abandon_after_fork)
