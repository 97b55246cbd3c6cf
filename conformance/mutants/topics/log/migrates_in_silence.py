"""A file of another version gets our tables and our version."""

from refbus.topics.bus import TopicsBus
from refbus.topics.mcp.server import main
from refbus.topics.store import create_missing

KILLED_BY = ("topics.log.19", "topics.log.20", "topics.log.21", "topics.log.22")


class Mutant(TopicsBus):
    def _open(self) -> None:
        with self.db.transaction() as connection:
            create_missing(connection)
            connection.execute("INSERT OR REPLACE INTO meta VALUES ('schema_version', '6')")
        super()._open()


if __name__ == "__main__":
    raise SystemExit(main(Mutant))
