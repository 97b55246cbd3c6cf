"""Who has not joined is anonymous."""

import os

from refbus.topics.bus import TopicsBus
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.lease.17", "topics.lease.18")


class Mutant(TopicsBus):
    def _my_name(self, topic_id: str) -> str:
        if topic_id not in self._joined:
            self.topic_join(f"anonymous-{os.getpid()}", topic_id)
        return super()._my_name(topic_id)


if __name__ == "__main__":
    raise SystemExit(main(Mutant))
