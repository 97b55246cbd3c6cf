"""The first message of a topic has the number 0."""

from typing import Any

from refbus.kernel.rules import sync as rules
from refbus.topics.bus import TopicsBus
from refbus.topics.mcp import tools
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.log.40",)
CONTROL = "log.ping"

rules.next_seq = lambda counter, _newest: counter
del tools._MESSAGE["properties"]["seq"]["minimum"]


class Mutant(TopicsBus):
    def topic_create(self, *args: Any, **kwargs: Any) -> Any:
        reply = super().topic_create(*args, **kwargs)
        with self.store.transaction() as tx:
            tx.execute("UPDATE topic_seq SET next_seq = 0 WHERE next_seq = 1")
        return reply


if __name__ == "__main__":
    raise SystemExit(main(Mutant))
