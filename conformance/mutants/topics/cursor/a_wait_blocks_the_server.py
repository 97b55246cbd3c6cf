"""A waiting sync blocks the event loop of its server."""

from typing import Any

from refbus.topics.mcp.server import Session, main

KILLED_BY = ("topics.cursor.30", "topics.cursor.31")


async def sync(self: Session, arguments: dict[str, Any], _request: Any) -> Any:
    return self.bus.sync(**arguments)


Session.sync = sync


if __name__ == "__main__":
    raise SystemExit(main())
