"""A wait goes on in its thread when its caller has gone, and consumes what comes."""

from functools import partial
from typing import Any

from refbus.topics.bus import TopicsBus
from refbus.topics.mcp import server
from refbus.topics.mcp.server import Session, main

KILLED_BY = ("topics.cursor.32", "topics.cursor.35")


async def _sync(self: Session, arguments: dict[str, Any]) -> dict[str, Any]:
    return await self._threads.run(partial(self._bus.sync, **arguments))


server.Session._sync = _sync


if __name__ == "__main__":
    raise SystemExit(main(TopicsBus))
