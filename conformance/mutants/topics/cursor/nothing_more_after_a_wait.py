"""A sync that had to wait says that nothing more is unread, even if something is."""

from refbus.topics import cursor
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.cursor.54",)
ITEM = "corpus:more_after_a_wait"


class Call(cursor.SyncCall):
    def receive(self) -> None:
        super().receive()
        self.reply["has_more"] = False


cursor.SyncCall = Call  # type: ignore[misc]


if __name__ == "__main__":
    raise SystemExit(main())
