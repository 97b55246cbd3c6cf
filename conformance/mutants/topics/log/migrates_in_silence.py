"""A file of another version gets our tables and our version."""

from refbus.kernel.transaction import Transaction
from refbus.topics import bus
from refbus.topics.mcp.server import main
from refbus.topics.store import SCHEMA, Store

KILLED_BY = ("topics.log.19", "topics.log.20", "topics.log.21", "topics.log.22")


class Fault(Store):
    def open_file(self) -> None:
        with self.db.transaction() as connection:
            tx = Transaction(connection, 0)
            SCHEMA.create_missing(tx)
            tx.execute("INSERT OR REPLACE INTO meta VALUES ('schema_version', '6')")
        super().open_file()


bus.Store = Fault


if __name__ == "__main__":
    raise SystemExit(main())
