"""A client_message_id is looked up among all topics and senders."""

from refbus.topics import sync
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.log.64", "topics.log.65")

sync._BY_CLIENT_ID = sync._BY_CLIENT_ID.replace("topic_id = ? AND sender = ?", "? <> '' AND ? <> ''")


if __name__ == "__main__":
    raise SystemExit(main())
