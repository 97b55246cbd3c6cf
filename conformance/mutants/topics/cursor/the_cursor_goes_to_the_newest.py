"""The cursor advances to the newest message, returned or not."""

from sqlite3 import Connection
from typing import Any

from refbus.topics import sync
from refbus.topics.bus import TopicsBus
from refbus.topics.mcp.server import main
from refbus.topics.sync import SyncCall

KILLED_BY = ("topics.cursor.10", "topics.cursor.11", "topics.cursor.37", "topics.cursor.47")


class Call(SyncCall):
    def _read(self, connection: Connection, after: int, newest: int) -> tuple[list[dict[str, Any]], bool, int]:
        messages, has_more, _ = super()._read(connection, after, newest)
        return messages, has_more, newest


sync.SyncCall = Call


if __name__ == "__main__":
    raise SystemExit(main(TopicsBus))
