"""has_more says whether the page is full."""

from typing import Any

from refbus.topics import log
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.cursor.06",)

page = log.page


def full(*args: Any) -> log.Page:
    found = page(*args)
    return found._replace(has_more=len(found.messages) == args[5])


log.page = full


if __name__ == "__main__":
    raise SystemExit(main())
