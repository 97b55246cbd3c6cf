"""A closed topic is closed for its readers too."""

from typing import Any

from refbus.kernel.errors import TopicClosed
from refbus.topics.bus import TopicsBus
from refbus.topics.lease import Standing
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.route.15",)


class Mutant(TopicsBus):
    def _standing(self, *args: Any) -> Standing:
        standing = super()._standing(*args)
        if standing.status == "closed":
            raise TopicClosed("the topic is closed")
        return standing


if __name__ == "__main__":
    raise SystemExit(main(Mutant))
