"""topic_create looks for the name in one transaction and makes the topic in another."""

from typing import Any

from refbus.kernel.errors import TopicNotFound
from refbus.topics.bus import TopicsBus
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.route.04",)


class Mutant(TopicsBus):
    def topic_create(self, name: Any = None, metadata: Any = None, mode: str = "reuse") -> dict[str, Any]:
        if mode == "reuse" and name is not None:
            try:
                return self.topic_resolve(name)
            except TopicNotFound:
                pass
        return super().topic_create(name, metadata, "new")


if __name__ == "__main__":
    raise SystemExit(main(Mutant))
