"""Whether a call has stored something, as another connection sees it."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path
from typing import Any

# A refused call may touch numbers that it burnt, and the index of a search, which catches up when it is used.
NOT_STORED = re.compile(r"sqlite_|search_|(messages_)?fts|embedding")

Rows = dict[str, list[Any]]


class Watch:
    """Looks at a database between calls. Where there is none yet, nothing is seen."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._before: sqlite3.Connection | None = None  # stands in a transaction: it still sees the old state
        self._now: sqlite3.Connection | None = None
        self._version = 0

    def begin(self) -> None:
        """Before a call."""
        if self._before is None and self._path.exists():
            self._before = sqlite3.connect(self._path, isolation_level=None)
            self._now = sqlite3.connect(self._path, isolation_level=None)
        if self._before is not None:
            self._before.execute("BEGIN")
            self._before.execute("SELECT count(*) FROM sqlite_master").fetchone()
            self._version = self._data_version()

    def stored(self) -> str | None:
        """After a call: the first table that it changed. Cheap where nobody has committed."""
        if self._before is None or self._now is None:
            return None
        if self._data_version() == self._version:
            return None
        before, now = _rows(self._before), _rows(self._now)
        return next((table for table in {**before, **now} if before.get(table) != now.get(table)), None)

    def end(self) -> None:
        """Let go of the old state."""
        if self._before is not None and self._before.in_transaction:
            self._before.execute("ROLLBACK")

    def close(self) -> None:
        for connection in (self._before, self._now):
            if connection is not None:
                connection.close()
        self._before = self._now = None

    def _data_version(self) -> int:
        assert self._now is not None
        (version,) = self._now.execute("PRAGMA data_version").fetchone()
        return int(version)


def _rows(connection: sqlite3.Connection) -> Rows:
    connection.text_factory = bytes
    names = [name.decode() for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    return {
        name: connection.execute(f'SELECT * FROM "{name}"').fetchall() for name in names if not NOT_STORED.match(name)
    }
