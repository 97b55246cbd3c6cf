"""Peers are listed by name, not the latest first."""

from refbus.topics import presence
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.presence.09",)

SEED, FAULT = "updated_at DESC, ", ""
assert SEED in presence._PRESENT
presence._PRESENT = presence._PRESENT.replace(SEED, FAULT)


if __name__ == "__main__":
    raise SystemExit(main())
