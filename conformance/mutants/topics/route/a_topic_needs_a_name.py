"""A topic without a name is refused."""

from typing import Any

from refbus.kernel.errors import InvalidArgument
from refbus.topics.bus import TopicsBus
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.route.05",)
CONTROL = "route.reuse"


class Mutant(TopicsBus):
    def topic_create(self, name: Any = None, **kwargs: Any) -> dict[str, Any]:
        if name is None:
            raise InvalidArgument("name is missing")
        return super().topic_create(name, **kwargs)


if __name__ == "__main__":
    raise SystemExit(main(Mutant))
