"""Cursors and reservations are unique, and have no primary key."""

from refbus.topics import store
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.log.34", "topics.log.35")

SEED, FAULT = "PRIMARY KEY (", "UNIQUE ("
assert SEED in store.SCHEMA.seed
store.SCHEMA = store.SCHEMA._replace(seed=store.SCHEMA.seed.replace(SEED, FAULT))


if __name__ == "__main__":
    raise SystemExit(main())
