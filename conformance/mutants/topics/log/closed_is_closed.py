"""Whether a topic is closed is asked before whether the message is there."""

from typing import Any

from refbus.kernel.errors import TopicClosed
from refbus.topics import sync
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.log.66",)

send = sync._send


def strict(connection: Any, topic_id: str, sender: str, standing: Any, items: Any, now: float) -> Any:
    if items and standing.status == "closed":
        raise TopicClosed(f"topic {topic_id} is closed")
    return send(connection, topic_id, sender, standing, items, now)


sync._send = strict


if __name__ == "__main__":
    raise SystemExit(main())
