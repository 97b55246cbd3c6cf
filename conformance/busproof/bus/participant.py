"""The base of the kit's own participants: a connection, a clock, and a door that is opened in this process."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from busproof.bus.base import Refused
from busproof.contract import CONTRACTS, PROTOCOL_VERSION


class Participant:
    """A session in this process. A method of the protocol is a method here, with an underscore before its name."""

    stderr = ""
    system = ""
    nouns: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    clock = "wall"

    def __init__(self) -> None:
        self._db: sqlite3.Connection | None = None
        self._store = Path()
        self._now_ms: int | None = None
        self._alone = threading.Lock()  # a session has one connection, and calls may come in several threads

    def call(self, method: str, params: dict[str, Any], *, timeout_s: float = 30.0) -> dict[str, Any]:
        """Run the method; SQLite's errors become refusals."""
        function = getattr(self, f"_{method.replace('.', '_')}", None)
        if function is None or method.startswith("_"):
            raise Refused("METHOD_NOT_FOUND", f"the kit's participant has no {method}", definite=True, rpc=-32601)
        with self._alone:
            return self._called(function, params)

    def _called(self, function: Callable[..., dict[str, Any]], params: dict[str, Any]) -> dict[str, Any]:
        try:
            return function(**params)
        except TypeError as error:
            self._roll_back()
            raise Refused("INVALID_ARGUMENT", str(error), definite=True) from error
        except Refused:
            self._roll_back()
            raise
        except sqlite3.Error as error:
            self._roll_back()
            code = CONTRACTS[self.system].busy if "locked" in str(error) else "INTERNAL"
            raise Refused(code, str(error), definite=True) from error

    def _hello(self, **_: Any) -> dict[str, Any]:
        return {
            "protocol": PROTOCOL_VERSION,
            "name": "busproof sqlite participant",
            "version": "1",
            "language": "python",
            "systems": [self.system],
            "nouns": list(self.nouns),
            "features": list(self.features),
            "clock": self.clock,
            "durability": "process-crash",
        }

    def kill(self) -> None:
        """Close without a commit, which leaves the same as a kill."""
        if self._db is not None:
            self._db.close()
            self._db = None

    def close(self) -> None:
        """Leave the store."""
        self.kill()

    def _sleep(self, seconds: float) -> None:
        """Sleep outside a transaction: other calls get their turn."""
        self._alone.release()
        try:
            time.sleep(seconds)
        finally:
            self._alone.acquire()

    def _roll_back(self) -> None:
        if self._db is not None and self._db.in_transaction:
            self._db.execute("ROLLBACK")

    def _connect(self, path: Path, *, keeps_journal: bool = False) -> sqlite3.Connection:
        """The seeds' connection set-up, except that a file may keep the kind of journal that it has."""
        db = sqlite3.connect(path, timeout=5, isolation_level=None, check_same_thread=False)
        db.row_factory = sqlite3.Row
        if not keeps_journal:
            _change_to_wal(db)
        db.execute("PRAGMA synchronous = NORMAL")
        self._db = db
        return db

    def _close(self) -> dict[str, Any]:
        self.kill()
        self._now_ms = None
        return {}

    def _clock_set(self, now_ms: int) -> dict[str, Any]:
        self._now_ms = now_ms
        return {}

    @property
    def _conn(self) -> sqlite3.Connection:
        if self._db is None:
            raise Refused("NOT_OPEN", "no store is open", definite=True)
        return self._db

    def _time(self) -> int:
        return time.time_ns() // 1_000_000 if self._now_ms is None else self._now_ms


def _change_to_wal(db: sqlite3.Connection) -> None:
    """SQLite does not wait for a lock here, whatever the time-out is: two may open a new file at the same moment."""
    until_s = time.monotonic() + 5
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until_s:
                raise
            time.sleep(0.005)
        else:
            return
