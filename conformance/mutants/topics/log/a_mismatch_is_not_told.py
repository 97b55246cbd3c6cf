"""Other content under a known client_message_id is dropped in silence."""

from refbus.topics import message
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.log.63",)

message.Draft.says_the_same = lambda *_: True


if __name__ == "__main__":
    raise SystemExit(main())
