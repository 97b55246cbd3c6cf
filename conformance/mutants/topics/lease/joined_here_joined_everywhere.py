"""Who has joined a topic is on all others under the same name."""

from refbus.topics.bus import TopicsBus
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.lease.18",)


class Mutant(TopicsBus):
    def _my_name(self, topic_id: str) -> str:
        if self._joined and topic_id not in self._joined:
            self.topic_join(next(iter(self._joined.values())).agent_name, topic_id)
        return super()._my_name(topic_id)


if __name__ == "__main__":
    raise SystemExit(main(Mutant))
