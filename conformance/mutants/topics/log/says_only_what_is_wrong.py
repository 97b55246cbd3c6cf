"""A file of another version is refused, and what to do is not said."""

from typing import Any

from refbus.kernel.errors import DbSchemaMismatch
from refbus.topics.bus import TopicsBus
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.log.21",)


class Mutant(TopicsBus):
    def _mismatch(self, connection: Any) -> DbSchemaMismatch:
        return DbSchemaMismatch("the database has another schema version")


if __name__ == "__main__":
    raise SystemExit(main(Mutant))
