"""The messages that a sync received for a caller that went are consumed, and never seen by anybody (B3)."""

from refbus.topics import cursor
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.cursor.49",)
CHAOS = {"ways": ("cancelled",)}


def give_back(_call: cursor.SyncCall) -> None:
    """Nothing."""


if __name__ == "__main__":
    cursor.SyncCall.give_back = give_back  # type: ignore[method-assign]
    main()
