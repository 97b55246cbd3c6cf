"""The open file is believed: a write after somebody removed it is acknowledged, and gone."""

from refbus.kernel.db import Database
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.log.81",)

Database.refuse_another_file = lambda self, **how: None  # type: ignore[method-assign]


if __name__ == "__main__":
    raise SystemExit(main())
