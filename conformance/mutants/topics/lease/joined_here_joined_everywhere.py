"""An agent that has joined a topic is on all others under the same name."""

from typing import Any

from refbus.topics import bus
from refbus.topics.lease import Lease
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.lease.18",)


class Fault(Lease):
    def identity(self, topic_id: str) -> Any:
        if self.joined and topic_id not in self.joined:
            self.topic_join(next(iter(self.joined.values())).agent_name, topic_id)
        return super().identity(topic_id)


bus.Lease = Fault


if __name__ == "__main__":
    raise SystemExit(main())
