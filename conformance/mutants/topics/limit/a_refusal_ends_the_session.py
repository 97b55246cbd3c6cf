"""After a refused join a session is nobody on any topic."""

from typing import Any

from refbus.topics.bus import TopicsBus
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.limit.08",)


class Mutant(TopicsBus):
    def topic_join(self, *args: Any, **more: Any) -> dict[str, Any]:
        before, self.lease.joined = self.lease.joined, {}
        reply = super().topic_join(*args, **more)
        self.lease.joined = before | self.lease.joined
        return reply


if __name__ == "__main__":
    raise SystemExit(main(Mutant))
