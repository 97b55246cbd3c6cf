"""Every message has the type "text"."""

from typing import Any

from refbus.topics import message
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.log.49", "topics.log.50")


class OneType(message.Draft):
    def __init__(self, item: Any, where: str) -> None:
        super().__init__(item, where)
        self.type = "text"


message.Draft = OneType


if __name__ == "__main__":
    raise SystemExit(main())
