"""A topic's peers are those of every topic."""

from refbus.topics import presence
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.presence.01",)
CONTROL = "presence.bad_arguments"

SEED, FAULT = "topic_id = ?", "(topic_id = ? OR true)"
assert SEED in presence._PRESENT
presence._PRESENT = presence._PRESENT.replace(SEED, FAULT)


if __name__ == "__main__":
    raise SystemExit(main())
