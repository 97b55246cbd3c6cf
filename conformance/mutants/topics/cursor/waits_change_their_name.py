"""A wait goes on under the name that its session has joined meanwhile."""

from refbus.topics import cursor
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.cursor.51",)


class Call(cursor.SyncCall):
    def receive(self) -> None:
        self.me = self.cursor.lease.joined[self.me.topic_id]
        super().receive()


cursor.SyncCall = Call


if __name__ == "__main__":
    raise SystemExit(main())
