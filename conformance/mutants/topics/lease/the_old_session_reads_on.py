"""A session whose name was reclaimed is refused only when it sends."""

from typing import Any

from refbus.topics import cursor
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.lease.27", "topics.lease.32")


class Call(cursor.SyncCall):
    def exchange(self, items: list[Any], ack_through: int | None) -> None:
        if not items:
            with self.cursor.store.transaction() as tx:
                latest = self.cursor.lease.latest_claim(tx, self.me.topic_id, self.me.agent_name)
            self.me = self.me._replace(claim=latest)
        super().exchange(items, ack_through)


cursor.SyncCall = Call


if __name__ == "__main__":
    raise SystemExit(main())
