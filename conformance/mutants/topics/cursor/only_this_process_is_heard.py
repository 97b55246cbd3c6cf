"""A wait is woken by messages of its own process alone."""

import sqlite3

from refbus.topics import sync
from refbus.topics.bus import TopicsBus
from refbus.topics.mcp.server import main
from refbus.topics.message import Draft
from refbus.topics.sync import SyncCall

KILLED_BY = ("topics.cursor.28",)


class Call(SyncCall):
    sends = 0

    def exchange(self, items: list[Draft], ack_through: int | None) -> None:
        super().exchange(items, ack_through)
        Call.sends += len(items)
        self.seen = Call.sends

    def sees_news(self, connection: sqlite3.Connection) -> bool:
        return Call.sends > self.seen and super().sees_news(connection)


sync.SyncCall = Call


if __name__ == "__main__":
    raise SystemExit(main(TopicsBus))
