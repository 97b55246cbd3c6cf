"""Times are milliseconds."""

from refbus.topics.bus import TopicsBus
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.log.38",)


class Mutant(TopicsBus):
    def _now(self) -> float:
        return super()._now() * 1000


if __name__ == "__main__":
    raise SystemExit(main(Mutant))
