"""topic_join does not say how the topic is named and stands."""

from typing import Any

from refbus.topics.bus import TopicsBus
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.lease.01",)
CONTROL = "lease.bad_join"


class Mutant(TopicsBus):
    def topic_join(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        reply = super().topic_join(*args, **kwargs)
        return reply | {"name": reply["topic_id"], "status": "closed"}


if __name__ == "__main__":
    raise SystemExit(main(Mutant))
