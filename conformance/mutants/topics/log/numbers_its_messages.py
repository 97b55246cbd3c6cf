"""Every process numbers its messages from one, for their ids."""

import itertools

from refbus.topics import store, sync
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.log.36", "topics.log.37")

numbers = itertools.count(1)
statements = store.statements
store.statements = lambda file: [
    text.replace("message_id TEXT PRIMARY KEY", "message_id TEXT") for text in statements(file)
]
sync.ids_of_time = lambda _now, count: [f"m-{next(numbers)}" for _ in range(count)]


if __name__ == "__main__":
    raise SystemExit(main())
