"""A server that starts clears away old messages."""

from refbus.topics.bus import TopicsBus
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.log.47",)


class Mutant(TopicsBus):
    def _open(self) -> None:
        super()._open()
        with self.db.transaction() as connection:
            connection.execute("DELETE FROM messages")


if __name__ == "__main__":
    raise SystemExit(main(Mutant))
