"""The schema version is written and never read."""

from refbus.topics import store
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.log.19", "topics.log.20", "topics.log.21", "topics.log.22")

store._schema_version = lambda _connection: store.SCHEMA_VERSION


if __name__ == "__main__":
    raise SystemExit(main())
