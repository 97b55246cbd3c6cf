"""Only the first 500 characters of a body are kept."""

from typing import Any

from refbus.topics import message
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.log.91",)


class Fault(message.Draft):
    def __init__(self, item: Any) -> None:
        super().__init__(item)
        self.body = self.body[:500]


message.Draft = Fault


if __name__ == "__main__":
    raise SystemExit(main())
