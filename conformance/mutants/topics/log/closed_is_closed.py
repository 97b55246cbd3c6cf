"""The server asks whether a topic is closed before it asks whether the message is there."""

from refbus.kernel.rules import sync as rules
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.log.66",)

send = rules.send
rules.send = lambda is_same, is_open: send(is_same, is_open) if is_open else rules.Send.REFUSE


if __name__ == "__main__":
    raise SystemExit(main())
