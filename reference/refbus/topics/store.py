"""The shared database file of the bus, and how it is opened, versioned and wiped."""

from __future__ import annotations

import contextlib
import os
import shlex
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

from refbus.kernel import store as kernel
from refbus.kernel.clock import Clock
from refbus.kernel.errors import BusError, Busy, DbBusy, DbSchemaMismatch, InvalidArgument, NotOpen, SchemaMismatch
from refbus.kernel.files import make_path
from refbus.kernel.schema import Schema, version_of
from refbus.kernel.transaction import Transaction

DB_NAME = "agent_bus.sqlite"
SCHEMA_VERSION = 6
SCHEMA = Schema.of_folder(Path(__file__).parent, version=SCHEMA_VERSION, oldest=SCHEMA_VERSION)


class InUse:
    """A guard around a resource. SQLite crashes if a connection is closed under a thread that uses it."""

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


class Store(kernel.Store):
    """The file, or the folder that holds it under its usual name. Threads may share it.

    It is opened by the first transaction, so that a server can start on a file of another version and answer each
    tool with DB_SCHEMA_MISMATCH (seed 004, 3.0). The version is read again by every transaction.
    """

    def __init__(self, store: Path | str, *, clock: Clock | None = None, synchronous: str = "NORMAL") -> None:
        self._is_open, self._in_use = False, InUse()
        super().__init__(database_file(store), clock=clock, synchronous=synchronous)
        make_path(self.path.parent)

    def close(self) -> None:
        """Wait for the calls that are at work, then close all connections and watches."""
        self._in_use.end()
        super().close()

    @contextlib.contextmanager
    def transaction(self, begin: str = "BEGIN IMMEDIATE") -> Iterator[Transaction]:
        """Everything in the block or nothing of it (B1). Errors: DB_BUSY, DB_SCHEMA_MISMATCH, NOT_OPEN."""
        try:
            with self._in_use:
                if not self._is_open:
                    self.open_file()
                with super().transaction(begin) as tx:
                    if version_of(tx) != str(SCHEMA_VERSION):
                        raise self.mismatch(f"schema_version {version_of(tx)!a:.40}")
                    yield tx
        except Busy as error:
            raise DbBusy(f"another process holds the database: {error}") from error

    def open_file(self) -> None:
        """Make what is missing in an empty file or one of our version; refuse any other and leave it as it is."""
        try:
            self.open(SCHEMA)
        except SchemaMismatch as error:
            raise self.mismatch(str(error)) from error
        self._is_open = True

    def version(self) -> int:
        """Another number after every commit of another connection; -1 where it cannot be told."""
        try:
            with self._in_use:
                return super().version()
        except (BusError, sqlite3.Error):
            return -1  # those who wait meet the error themselves, where it can be told

    def wipe(self) -> dict[str, str]:
        """Empty the file, whatever its version: all tables go, and those of this version are made anew.

        The file itself stays: a server that has it open would go on writing into a deleted one. Errors: DB_BUSY.
        """
        try:
            with self._in_use:
                with super().transaction() as tx:
                    for name, kind in tx.rows(_ALL):
                        quoted = name.replace('"', '""')
                        # A table that belongs to a virtual one has gone with it.
                        tx.execute(f'DROP {kind} IF EXISTS "{quoted}"')
                    SCHEMA.bring_up_to_date(tx)
                self._shrink()
        except Busy as error:
            raise DbBusy(f"another process holds the database: {error}") from error
        return {"path": str(self.path)}

    def _shrink(self) -> None:
        """Leave nothing of the old content in the file. If somebody reads just now, the next writes do that."""
        with contextlib.suppress(Busy):
            self.db.write("VACUUM")
            self.db.rows("PRAGMA wal_checkpoint(TRUNCATE)")

    def mismatch(self, finding: str) -> DbSchemaMismatch:
        """The error that says what was found, and what to do about it."""
        return DbSchemaMismatch(
            f"this server needs schema version {SCHEMA_VERSION} of the database: {finding}. "
            f"Wipe it with `refbus topics wipe --db {shlex.quote(str(self.path))}`. Do not remove the file: "
            "servers may run on it."
        )


def database() -> Path:
    """The file that the agents share (seed 004, section 2): the environment's AGENT_BUS_DB, or the usual place."""
    return Path(os.environ.get("AGENT_BUS_DB") or "~/.agent_bus/agent_bus.sqlite")


def embedding_model() -> str | None:
    """The folder of the model for searches by meaning: the environment's AGENT_BUS_EMBEDDING_MODEL."""
    return os.environ.get("AGENT_BUS_EMBEDDING_MODEL") or None


def database_file(store: Path | str) -> Path:
    """The file that a path means: itself, or the one in a folder. Errors: INVALID_ARGUMENT."""
    if not isinstance(store, str | Path) or not str(store) or "\0" in str(store):
        raise InvalidArgument("store must be the path of a database file or of its folder")
    # SQLite keeps its log beside the file that a link leads to.
    try:
        path = Path(store).expanduser().resolve()
    except (OSError, RuntimeError) as error:  # a link to itself
        raise InvalidArgument(f"store leads nowhere: {error!s:.200}") from error
    return path / DB_NAME if path.is_dir() else path


_ALL = """
    SELECT name, type FROM sqlite_master
    WHERE type IN ('table', 'view', 'trigger') AND name NOT LIKE 'sqlite!_%' ESCAPE '!'
    ORDER BY type <> 'trigger', sql NOT LIKE 'CREATE VIRTUAL TABLE%'
"""
