"""The columns of times are whole numbers."""

from refbus.topics import store
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.log.24", "topics.log.25", "topics.log.26", "topics.log.27", "topics.log.28")

SEED, FAULT = " REAL", " INTEGER"
assert SEED in store.SCHEMA.seed
store.SCHEMA = store.SCHEMA._replace(seed=store.SCHEMA.seed.replace(SEED, FAULT))


if __name__ == "__main__":
    raise SystemExit(main())
