"""An agent that has not joined is anonymous."""

import os
from typing import Any

from refbus.topics import bus
from refbus.topics.lease import Lease
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.lease.17", "topics.lease.18")


class Fault(Lease):
    def identity(self, topic_id: str) -> Any:
        if topic_id not in self.joined:
            self.topic_join(f"anonymous-{os.getpid()}", topic_id)
        return super().identity(topic_id)


bus.Lease = Fault


if __name__ == "__main__":
    raise SystemExit(main())
