"""topic_join with both an id and a name takes the id."""

from typing import Any

from refbus.topics.bus import TopicsBus
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.lease.04",)


class Mutant(TopicsBus):
    def topic_join(self, *args: Any, topic_id: Any = None, name: Any = None, **kwargs: Any) -> dict[str, Any]:
        return super().topic_join(*args, topic_id=topic_id, name=None if topic_id else name, **kwargs)


if __name__ == "__main__":
    raise SystemExit(main(Mutant))
