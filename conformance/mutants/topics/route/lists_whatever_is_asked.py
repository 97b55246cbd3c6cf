"""topic_list by an unknown status lists nothing."""

from typing import Any

from refbus.kernel.errors import InvalidArgument
from refbus.topics.bus import TopicsBus
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.route.21",)


class Mutant(TopicsBus):
    def topic_list(self, status: str = "open") -> Any:
        try:
            return super().topic_list(status)
        except InvalidArgument:
            return {"topics": []}


if __name__ == "__main__":
    raise SystemExit(main(Mutant))
