"""The keys of what was sent are known to the process that sent it alone."""

from typing import Any

from refbus.topics import store, sync
from refbus.topics.server import main

KILLED_BY = ("topics.log.67",)

statements = store.statements
store.statements = lambda file: [text for text in statements(file) if "client_id_unique" not in text]

stored, seen = sync._stored, set()


def remembered(connection: Any, topic_id: str, sender: str, item: Any) -> Any:
    key = topic_id, sender, item.client_id
    known = stored(connection, *key[:2], item) if key in seen else None
    seen.add(key)
    return known


sync._stored = remembered


if __name__ == "__main__":
    raise SystemExit(main())
