"""A wait goes on in its thread when its caller has gone, and consumes the messages that come."""

from functools import partial
from typing import Any

from refbus.topics.mcp.server import Session, main

KILLED_BY = ("topics.cursor.32", "topics.cursor.35")
DIES_OF = "ended before"


async def sync(self: Session, arguments: dict[str, Any], _request: Any) -> Any:
    return await self.threads.run(partial(self.bus.sync, **arguments))


Session.sync = sync


if __name__ == "__main__":
    raise SystemExit(main())
