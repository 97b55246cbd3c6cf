"""A waiting sync blocks the event loop of its server."""

from typing import Any

from refbus.topics.bus import TopicsBus
from refbus.topics.mcp import server
from refbus.topics.mcp.server import Session, main

KILLED_BY = ("topics.cursor.30", "topics.cursor.31")


async def _sync(self: Session, arguments: dict[str, Any]) -> dict[str, Any]:
    return self._bus.sync(**arguments)


server.Session._sync = _sync


if __name__ == "__main__":
    raise SystemExit(main(TopicsBus))
