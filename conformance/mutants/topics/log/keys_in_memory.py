"""The keys of sent messages are known to the process that sent them alone."""

from typing import Any

from refbus.topics import log, store
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.log.67",)

SEED, FAULT = ("UNIQUE INDEX IF NOT EXISTS idx_messages_topic_sender", "INDEX IF NOT EXISTS idx_messages_topic_sender")
assert SEED in store.SCHEMA.seed
store.SCHEMA = store.SCHEMA._replace(seed=store.SCHEMA.seed.replace(SEED, FAULT))

stored, seen = log.stored, set()


def remembered(tx: Any, topic_id: str, sender: str, items: list[Any]) -> Any:
    keys = [(topic_id, sender, item.client_id) for item in items]
    known = stored(tx, topic_id, sender, [item for item, key in zip(items, keys, strict=True) if key in seen])
    seen.update(keys)
    return known


log.stored = remembered


if __name__ == "__main__":
    raise SystemExit(main())
