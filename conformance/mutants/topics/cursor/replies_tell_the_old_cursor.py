"""The reply tells where the reader stood before the call."""

from refbus.topics import cursor
from refbus.topics.mcp.server import main
from refbus.topics.message import Draft

KILLED_BY = ("topics.cursor.22", "topics.cursor.39")


class Call(cursor.SyncCall):
    def exchange(self, items: list[Draft], ack_through: int | None) -> None:
        super().exchange(items, ack_through)
        self.reply["cursor"]["last_seq"] = self.consumed[0]


cursor.SyncCall = Call


if __name__ == "__main__":
    raise SystemExit(main())
