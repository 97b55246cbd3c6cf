"""A client_message_id is kept with the message, and nobody looks at it."""

from refbus.topics import log, store
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.log.61", "topics.log.62", "topics.log.63", "topics.log.67", "topics.log.46", "topics.log.72")

SEED, FAULT = ("UNIQUE INDEX IF NOT EXISTS idx_messages_topic_sender", "INDEX IF NOT EXISTS idx_messages_topic_sender")
assert SEED in store.SCHEMA.seed
store.SCHEMA = store.SCHEMA._replace(seed=store.SCHEMA.seed.replace(SEED, FAULT))

log.stored = lambda *_: {}


if __name__ == "__main__":
    raise SystemExit(main())
