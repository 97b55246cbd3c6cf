"""A topic is reused also where a new one was asked for."""

from typing import Any

from refbus.topics.bus import TopicsBus
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.route.03",)


class Mutant(TopicsBus):
    def topic_create(self, *args: Any, mode: str = "reuse", **kwargs: Any) -> dict[str, Any]:
        return super().topic_create(*args, **kwargs)


if __name__ == "__main__":
    raise SystemExit(main(Mutant))
