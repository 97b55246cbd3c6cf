"""The kit's own hand on a store: changes to files beside any bus, and the looks of readers of the files.

A hand writes as a stranger's program would, damages, looks, and holds the file's write lock, so that calls sent
meanwhile wait for it and for each other.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any


class Hand:
    """One hand on one store. A subclass has a method for each thing that it can do, and the name of the database."""

    DATABASE = ""
    LOOK = ""  # the method that shows the whole state, for buses whose protocol has no dump
    ON_FILES: tuple[str, ...] = ()  # methods that work on any bus; all others need the tables

    def __init__(self, store: Path) -> None:
        self.store = store
        self._db: sqlite3.Connection | None = None

    @property
    def db(self) -> sqlite3.Connection:
        """The store's database, which a bus has made."""
        if self._db is None:
            path = (self.store / self.DATABASE).as_uri()
            self._db = sqlite3.connect(f"{path}?mode=rw", uri=True, isolation_level=None, timeout=10)
        return self._db

    def has_tables(self) -> bool:
        """Is there a database where the store's belongs, and anything in it?"""
        try:
            return bool(self.db.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone())
        except sqlite3.OperationalError:  # there is no such file
            return False

    def call(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Do one thing."""
        function = getattr(self, method)
        result: dict[str, Any] = function(**params) or {}
        return result

    def burn(self, upto: int) -> dict[str, Any]:
        """Numbers that were taken and rolled back, or of rows that are gone: all new rows are above them."""
        self.db.execute(
            "INSERT INTO sqlite_sequence SELECT name, 0 FROM sqlite_master WHERE sql LIKE 'CREATE TABLE%AUTOINCREMENT%'"
            " AND name NOT IN (SELECT name FROM sqlite_sequence)"
        )
        self.db.execute("UPDATE sqlite_sequence SET seq = max(seq, ?)", (upto,))
        return {}

    def hold(self) -> None:
        """Take the write lock. All writes of this hand until `let_go` are one transaction."""
        self.db.execute("BEGIN IMMEDIATE")

    def let_go(self) -> None:
        """Commit, and give the lock back."""
        self.db.execute("COMMIT")

    def close(self) -> None:
        """Leave the store. Uncommitted changes did not happen."""
        if self._db is not None:
            self._db.close()
            self._db = None
