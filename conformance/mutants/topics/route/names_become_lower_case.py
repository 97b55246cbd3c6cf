"""A topic is made under its name in lower case."""

from typing import Any

from refbus.topics.bus import TopicsBus
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.route.01",)
CONTROL = "route.reuse"


class Mutant(TopicsBus):
    def topic_create(self, name: Any = None, **kwargs: Any) -> dict[str, Any]:
        return super().topic_create(name and name.lower(), **kwargs)


if __name__ == "__main__":
    raise SystemExit(main(Mutant))
