"""topic_join takes an id for a name and a name for an id."""

from typing import Any

from refbus.topics.bus import TopicsBus
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.lease.02", "topics.lease.03")
CONTROL = "lease.bad_join"


class Mutant(TopicsBus):
    def topic_join(self, *args: Any, topic_id: Any = None, name: Any = None, **kwargs: Any) -> dict[str, Any]:
        return super().topic_join(*args, topic_id=name, name=topic_id, **kwargs)


if __name__ == "__main__":
    raise SystemExit(main(Mutant))
