"""A client_message_id is looked for among the last thousand messages; beyond them a retry breaks a constraint."""

from refbus.topics import log
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.log.88",)

WAS = "topic_id = ? AND sender = ?"
WITHIN = "seq > (SELECT next_seq - 1000 FROM topic_seq WHERE topic_seq.topic_id = messages.topic_id)"
assert WAS in log._BY_CLIENT_ID
log._BY_CLIENT_ID = log._BY_CLIENT_ID.replace(WAS, f"{WITHIN} AND {WAS}")


if __name__ == "__main__":
    raise SystemExit(main())
