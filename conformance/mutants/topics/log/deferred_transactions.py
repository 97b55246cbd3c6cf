"""A transaction takes the lock when it comes to its first write."""

from typing import Any

from refbus.topics.bus import TopicsBus
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.log.70",)


class Mutant(TopicsBus):
    def _transaction(self, _begin: str = "BEGIN") -> Any:
        return super()._transaction("BEGIN")


if __name__ == "__main__":
    raise SystemExit(main(Mutant))
