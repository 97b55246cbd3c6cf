"""A sync that waits when its topic is closed is TOPIC_CLOSED."""

from refbus.kernel.errors import TopicClosed
from refbus.topics import cursor
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.cursor.52",)


class Call(cursor.SyncCall):
    def receive(self) -> None:
        with self.cursor.store.snapshot() as tx:
            if cursor.standing(tx, self.me).lane.status == "closed":
                raise TopicClosed("the topic is closed")
        super().receive()


cursor.SyncCall = Call


if __name__ == "__main__":
    raise SystemExit(main())
