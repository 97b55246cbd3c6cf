"""A body may be called `content`, and may be missing."""

from typing import Any

from refbus.topics import message
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.log.57", "topics.log.58")


class Fault(message.Draft):
    def __init__(self, item: Any) -> None:
        body = item.get("content_markdown") or item.get("content") or "(empty)"
        super().__init__({**item, "content_markdown": body})


message.Draft = Fault


if __name__ == "__main__":
    raise SystemExit(main())
