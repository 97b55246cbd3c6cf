"""There are tables and no indexes."""

from refbus.topics import store
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.log.29", "topics.log.30", "topics.log.31", "topics.log.32", "topics.log.33")

statements = store.statements
store.statements = lambda file: [text for text in statements(file) if "INDEX" not in text]


if __name__ == "__main__":
    raise SystemExit(main())
