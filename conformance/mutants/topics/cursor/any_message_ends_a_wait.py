"""A wait ends with any message in the file, whether it is for the reader or not."""

import sqlite3

from refbus.topics import sync
from refbus.topics.bus import TopicsBus
from refbus.topics.mcp.server import main
from refbus.topics.sync import SyncCall

KILLED_BY = ("topics.cursor.29",)


class Call(SyncCall):
    seen: int | None = None
    is_woken = False

    @property
    def is_done(self) -> bool:
        return self.is_woken or super().is_done

    def sees_news(self, connection: sqlite3.Connection) -> bool:
        (count,) = connection.execute("SELECT count(*) FROM messages").fetchone()
        self.is_woken = self.is_woken or self.seen not in (None, count)
        self.seen = count
        return self.is_woken or super().sees_news(connection)


sync.SyncCall = Call


if __name__ == "__main__":
    raise SystemExit(main(TopicsBus))
