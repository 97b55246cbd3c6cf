"""The kit's own hand on a store: what happens to files beside any bus, and what readers of the files may find there.

A hand writes as a stranger's program would, damages, looks, and holds the file's write lock, so that calls that are
sent off meanwhile wait for it and for each other.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any


class Hand:
    """One hand on one store. A subclass has a method for each thing that it can do, and the name of the database."""

    DATABASE = ""
    LOOK = ""  # the method that shows the whole state, for buses whose protocol has no dump
    ON_FILES: tuple[str, ...] = ()  # what it does on any bus; all else takes the tables

    def __init__(self, store: Path) -> None:
        self.store = store
        self._db: sqlite3.Connection | None = None

    @property
    def db(self) -> sqlite3.Connection:
        """The store's database, which some bus has made."""
        if self._db is None:
            path = (self.store / self.DATABASE).as_uri()
            self._db = sqlite3.connect(f"{path}?mode=rw", uri=True, isolation_level=None, timeout=10)
        return self._db

    def call(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Do one thing."""
        function = getattr(self, method)
        result: dict[str, Any] = function(**params) or {}
        return result

    def hold(self) -> None:
        """Take the write lock. What this hand writes until `let_go` is one transaction."""
        self.db.execute("BEGIN IMMEDIATE")

    def let_go(self) -> None:
        """Commit, and give the lock back."""
        self.db.execute("COMMIT")

    def close(self) -> None:
        """Leave the store. What was not committed did not happen."""
        if self._db is not None:
            self._db.close()
            self._db = None
