"""A locked file is an error at once, and goes by SQLite's name."""

from refbus.kernel import db
from refbus.kernel.errors import DbBusy
from refbus.kernel.rules import retry
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.log.70", "topics.log.71")

db.BUSY_TIMEOUT_MS = 0
retry.LOCK_ATTEMPTS_MAX = 1
DbBusy.code = "SQLITE_BUSY"


if __name__ == "__main__":
    raise SystemExit(main())
