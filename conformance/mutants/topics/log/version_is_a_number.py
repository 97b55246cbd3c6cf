"""The schema version is the number 6."""

from refbus.topics import store
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.log.18", "topics.log.23")

SEED, FAULT = "value TEXT", "value INTEGER"
assert SEED in store.SCHEMA.seed
store.SCHEMA = store.SCHEMA._replace(seed=store.SCHEMA.seed.replace(SEED, FAULT))


if __name__ == "__main__":
    raise SystemExit(main())
