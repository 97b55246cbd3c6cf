"""Cursors and reservations are unique, and have no primary key."""

from refbus.topics import store
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.log.34", "topics.log.35")

statements = store.statements
store.statements = lambda file: [
    text if "WITHOUT ROWID" in text else text.replace("PRIMARY KEY (", "UNIQUE (") for text in statements(file)
]


if __name__ == "__main__":
    raise SystemExit(main())
