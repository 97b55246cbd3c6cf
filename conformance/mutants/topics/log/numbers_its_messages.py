"""Every process numbers its messages from one, for their ids."""

import itertools

from refbus.topics import log, store
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.log.36", "topics.log.37")

SEED, FAULT = "message_id TEXT PRIMARY KEY", "message_id TEXT"
assert SEED in store.SCHEMA.seed
store.SCHEMA = store.SCHEMA._replace(seed=store.SCHEMA.seed.replace(SEED, FAULT))

numbers = itertools.count(1)
log.ids_of_time = lambda _now_s, count: [f"m-{next(numbers)}" for _ in range(count)]


if __name__ == "__main__":
    raise SystemExit(main())
