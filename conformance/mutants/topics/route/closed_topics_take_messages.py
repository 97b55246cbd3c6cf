"""A closed topic is sent to."""

from typing import Any

from refbus.topics.bus import TopicsBus
from refbus.topics.lease import Standing
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.route.14",)


class Mutant(TopicsBus):
    def _standing(self, *args: Any) -> Standing:
        return super()._standing(*args)._replace(status="open")


if __name__ == "__main__":
    raise SystemExit(main(Mutant))
