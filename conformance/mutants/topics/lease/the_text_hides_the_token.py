"""The text of topic_join does not show the token."""

from refbus.topics import text
from refbus.topics.server import main

KILLED_BY = ("topics.lease.19", "topics.lease.20")

text._TEXTS["topic_join"] = lambda reply: [f"Joined {reply['name']} as {reply['agent_name']}."]


if __name__ == "__main__":
    raise SystemExit(main())
