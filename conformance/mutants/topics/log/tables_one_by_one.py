"""A new file gets its tables one by one, each in a transaction of its own."""

from refbus.kernel.transaction import Transaction
from refbus.topics import bus, store
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.log.74",)
DIES_OF = "INTERNAL"

SEED, FAULT = "TABLE IF NOT EXISTS", "TABLE"
assert SEED in store.SCHEMA.seed
store.SCHEMA = store.SCHEMA._replace(seed=store.SCHEMA.seed.replace(SEED, FAULT))


class Fault(store.Store):
    def open_file(self) -> None:
        connection = self.db.connection()
        if connection.execute("SELECT 1 FROM sqlite_master").fetchone() is None:
            store.SCHEMA.create_missing(Transaction(connection, 0))
        super().open_file()


bus.Store = Fault


if __name__ == "__main__":
    raise SystemExit(main())
