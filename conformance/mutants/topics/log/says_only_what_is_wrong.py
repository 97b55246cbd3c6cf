"""A file of another version is refused, and no remedy is named."""

from refbus.kernel.errors import DbSchemaMismatch
from refbus.topics import bus
from refbus.topics.mcp.server import main
from refbus.topics.store import Store

KILLED_BY = ("topics.log.21",)


class Fault(Store):
    def mismatch(self, found: str) -> DbSchemaMismatch:
        return DbSchemaMismatch("the database has another schema version")


bus.Store = Fault


if __name__ == "__main__":
    raise SystemExit(main())
