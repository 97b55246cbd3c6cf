"""The text of topic_join does not show the token."""

from refbus.topics.mcp import text
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.lease.19", "topics.lease.20")

text._TEXTS["topic_join"] = lambda reply: [f"Joined {reply['name']} as {reply['agent_name']}."]


if __name__ == "__main__":
    raise SystemExit(main())
