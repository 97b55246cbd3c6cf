"""ping fails where the database is of another version."""

from typing import Any

from refbus.topics.bus import TopicsBus
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.log.79",)


class Mutant(TopicsBus):
    def ping(self) -> Any:
        with self.store.snapshot():
            return super().ping()


if __name__ == "__main__":
    raise SystemExit(main(Mutant))
