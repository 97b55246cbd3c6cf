"""Only the body of a message is told: no reply_to, metadata, client id, and no true sender."""

from refbus.topics import log, message
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.log.51", "topics.log.53", "topics.log.54", "topics.log.55")

as_message = message.as_message
NOT_TOLD = {"reply_to": None, "metadata": None, "client_message_id": None, "sender": "agent"}
message.as_message = log.as_message = lambda row: as_message(row) | NOT_TOLD


if __name__ == "__main__":
    raise SystemExit(main())
