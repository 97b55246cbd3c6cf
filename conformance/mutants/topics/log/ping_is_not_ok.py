"""ping says that nothing is ok."""

from typing import Any

from refbus.topics.bus import TopicsBus
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.log.07",)


class Mutant(TopicsBus):
    def ping(self) -> dict[str, Any]:
        return super().ping() | {"ok": False}


if __name__ == "__main__":
    raise SystemExit(main(Mutant))
