"""The open file is looked for before a transaction waits for its lock: one that has gone since is written to."""

import sqlite3
import threading
from typing import Any

from refbus.kernel.db import Database
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.log.87",)
CHAOS = {"damage": 1}

_begin, _look = Database._begin, Database.refuse_another_file
_has_looked = threading.local()


def begin(self: Database, how: str) -> sqlite3.Connection:
    self.connection()
    _look(self)
    _has_looked.is_so = True
    try:
        return _begin(self, how)
    finally:
        _has_looked.is_so = False


def look(self: Database, **how: Any) -> None:
    if not getattr(_has_looked, "is_so", False):
        _look(self, **how)


Database._begin, Database.refuse_another_file = begin, look  # type: ignore[method-assign]


if __name__ == "__main__":
    raise SystemExit(main())
