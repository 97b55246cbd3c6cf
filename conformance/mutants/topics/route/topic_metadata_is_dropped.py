"""A topic's metadata is not stored."""

from typing import Any

from refbus.topics.bus import TopicsBus
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.route.06",)


class Mutant(TopicsBus):
    def topic_create(self, *args: Any, metadata: Any = None, **kwargs: Any) -> dict[str, Any]:
        return super().topic_create(*args, **kwargs)


if __name__ == "__main__":
    raise SystemExit(main(Mutant))
