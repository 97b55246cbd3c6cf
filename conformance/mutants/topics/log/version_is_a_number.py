"""The schema version is the number 6."""

from refbus.topics import store
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.log.18", "topics.log.23")

statements = store.statements
store.statements = lambda file: [text.replace("value TEXT", "value INTEGER") for text in statements(file)]

store.SCHEMA_VERSION, store.EXTRA_VERSION = 6, 1


if __name__ == "__main__":
    raise SystemExit(main())
