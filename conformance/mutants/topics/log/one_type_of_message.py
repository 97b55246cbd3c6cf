"""Every message has the type "text"."""

from typing import Any

from refbus.topics import message
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.log.49", "topics.log.50")


class Fault(message.Draft):
    def __init__(self, item: Any) -> None:
        super().__init__(item)
        self.type = "text"


message.Draft = Fault


if __name__ == "__main__":
    raise SystemExit(main())
