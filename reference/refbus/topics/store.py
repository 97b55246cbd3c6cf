"""What every noun of the bus stands on: the shared database file, a clock, and what this session has joined."""

from __future__ import annotations

import contextlib
import random
import secrets
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from refbus.kernel.clock import Clock
from refbus.kernel.db import Database, statements
from refbus.kernel.errors import BusError, Busy, DbBusy, DbSchemaMismatch, InvalidArgument, NotOpen
from refbus.kernel.files import make_folder
from refbus.kernel.wake import Waiters
from refbus.topics.bell import Bell

DB_NAME = "agent_bus.sqlite"
SCHEMA_VERSION = "6"
EXTRA_VERSION = "1"
SPEC_VERSION = "v6.3"

_HERE = Path(__file__).parent


class Identity(NamedTuple):
    """Who this session is on a topic: a name, and the claim of it that must still be the latest (B10)."""

    agent_name: str
    reclaim_token: str
    fence: int
    claimed_at: float


class Users:
    """Those who are at work in a session. SQLite crashes if a connection is closed under a thread that uses it."""

    def __init__(self) -> None:
        self._count, self._has_ended = 0, False
        self._left = threading.Condition()

    def __enter__(self) -> None:
        with self._left:
            if self._has_ended:
                raise NotOpen("the session is closed")
            self._count += 1

    def __exit__(self, *_: object) -> None:
        with self._left:
            self._count -= 1
            if self._has_ended:
                self._left.notify_all()

    def end(self) -> None:
        """Let nobody in any more, and wait until the last one has left."""
        with self._left:
            self._has_ended = True
            self._left.wait_for(lambda: self._count == 0)


class Store:
    """One agent's session on a shared database file. Threads may share it.

    `store` is the file, or a folder that holds it under its usual name. The file is opened by the first call, so that
    a server can start on a file of another version and answer each tool with DB_SCHEMA_MISMATCH (seed, 3.0).
    """

    def __init__(self, store: Path | str, *, clock: Clock | None = None, synchronous: str = "NORMAL") -> None:
        if synchronous not in ("NORMAL", "FULL"):
            raise InvalidArgument(f"synchronous must be NORMAL or FULL, not {synchronous!a:.40}")
        self.clock = clock or Clock()
        self.path = _file(store)
        for folder in reversed(self.path.parents):
            make_folder(folder)
        self.db = Database(self.path, synchronous=synchronous)
        self.waiters = Waiters(self.path.parent, f"{self.path.name}-wal", self._version)
        self.bell = Bell(self.waiters, self._version, self._snapshot)
        # In memory and no longer: a client joins again after a restart (seed, 2.3).
        self._joined: dict[str, Identity] = {}
        self._is_open = False
        self._using = Users()

    def close(self) -> None:
        """Close all connections and watches. A sync that waits ends as if its time were over."""
        self.bell.close()
        self._using.end()
        self.waiters.close()
        self.db.close()

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextlib.contextmanager
    def _transaction(self, begin: str = "BEGIN IMMEDIATE") -> Iterator[sqlite3.Connection]:
        """Everything in the block or nothing of it; the lock is taken at its start (B1)."""
        try:
            with self._using:
                if not self._is_open:
                    self._open()
                with self.db.transaction(begin) as connection:
                    if _schema_version(connection) != SCHEMA_VERSION:
                        raise self._mismatch(connection)
                    yield connection
        except Busy as error:
            raise DbBusy(f"another process holds the database: {error}") from error

    def _snapshot(self) -> contextlib.AbstractContextManager[sqlite3.Connection]:
        """Reads that see one moment, and wait for nobody."""
        return self._transaction("BEGIN")

    def _open(self) -> None:
        """Make what is missing in an empty file or one of our version; refuse any other and leave it as it is."""
        with self.db.transaction("BEGIN") as connection:
            is_current = _schema_version(connection) == SCHEMA_VERSION and _extra_version(connection) == EXTRA_VERSION
        if not is_current:
            with self.db.transaction() as connection:
                is_empty = connection.execute("SELECT 1 FROM sqlite_master").fetchone() is None
                if not is_empty and _schema_version(connection) != SCHEMA_VERSION:
                    raise self._mismatch(connection)
                create_missing(connection)
        self._is_open = True

    def _mismatch(self, connection: sqlite3.Connection) -> DbSchemaMismatch:
        found = _schema_version(connection)
        return DbSchemaMismatch(
            f"the database has {'no schema version' if found is None else f'schema version {found!a:.40}'}, "
            f"and this server needs {SCHEMA_VERSION}. Wipe it with `refbus topics wipe`, "
            f"or delete the file {self.path}, and start again."
        )

    def _now(self) -> float:
        """Unix seconds. Taken once in a call, so that all its times are equal."""
        return self.clock.now_us() / 1_000_000

    def _version(self) -> int:
        """Another number after every commit of another connection; -1 where it cannot be told."""
        try:
            with self._using:
                return self.db.version()
        except (BusError, sqlite3.Error):
            return -1  # those who wait meet the error themselves, where it can be told


def create_missing(connection: sqlite3.Connection) -> None:
    """Make all tables that are not there."""
    for statement in statements(_HERE / "schema.sql") + statements(_HERE / "extra.sql"):
        connection.execute(statement)
    connection.execute("INSERT OR REPLACE INTO meta VALUES ('refbus_extra_version', ?)", (EXTRA_VERSION,))


def new_id() -> str:
    """A short UUID: ten hex digits. Who stores it must expect that it is taken: there are only 2**40."""
    return secrets.token_hex(5)


def ids_of_time(now: float, count: int) -> list[str]:
    """Short UUIDs that begin with the second, as version 7 of the long ones does with the millisecond.

    So what is sent together lies together in the index of ids; random ones would dirty a page of it for each message.
    """
    start = (int(now) % 2**24 << 16) + random.randrange(2**16 - count)
    return [f"{number:010x}" for number in range(start, start + count)]


def _schema_version(connection: sqlite3.Connection) -> Any:
    return _meta(connection, "SELECT value FROM meta WHERE key = 'schema_version'")


def _extra_version(connection: sqlite3.Connection) -> Any:
    return _meta(connection, "SELECT value FROM meta WHERE key = 'refbus_extra_version'")


def _meta(connection: sqlite3.Connection, sql: str) -> Any:
    try:
        row = connection.execute(sql).fetchone()
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode != sqlite3.SQLITE_ERROR:
            raise
        return None  # no such table, or one of another shape
    return None if row is None else row[0]


def _file(store: Path | str) -> Path:
    if not isinstance(store, str | Path) or not str(store) or "\0" in str(store):
        raise InvalidArgument("store must be the path of a database file or of its folder")
    # SQLite keeps its log beside the file that a link leads to.
    path = Path(store).expanduser().resolve()
    return path / DB_NAME if path.is_dir() else path
