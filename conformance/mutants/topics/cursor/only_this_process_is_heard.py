"""A wait is woken by messages of its own process alone."""

from refbus.kernel.transaction import Transaction
from refbus.topics import cursor
from refbus.topics.cursor import SyncCall
from refbus.topics.mcp.server import main
from refbus.topics.message import Draft

KILLED_BY = ("topics.cursor.28",)


class Call(SyncCall):
    sends = 0

    def exchange(self, items: list[Draft], ack_through: int | None) -> None:
        super().exchange(items, ack_through)
        Call.sends += len(items)
        self.seen = Call.sends

    def sees_news(self, tx: Transaction) -> bool:
        return Call.sends > self.seen and super().sees_news(tx)


cursor.SyncCall = Call


if __name__ == "__main__":
    raise SystemExit(main())
