"""The open file is looked for before a transaction waits for its lock: one that has gone by then is written."""

import sqlite3

from refbus.kernel.db import Database
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.log.87",)
CHAOS = {"damage": 1}

_begin = Database._begin


def begin(self: Database, how: str) -> sqlite3.Connection:
    self.connection()
    self.refuse_another_file()
    look = Database.refuse_another_file
    Database.refuse_another_file = lambda self, **how: None  # type: ignore[method-assign]
    try:
        return _begin(self, how)
    finally:
        Database.refuse_another_file = look  # type: ignore[method-assign]


Database._begin = begin  # type: ignore[method-assign]


if __name__ == "__main__":
    raise SystemExit(main())
