"""A session sends under the name that it joined with, even if another has taken that over since."""

from typing import Any

from refbus.topics import cursor
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.lease.31",)
CHAOS = {"holds": True, "only": "sync that sends", "against": "a join as the same agent, and its send"}


class Call(cursor.SyncCall):
    def exchange(self, items: list[Any], ack_through: int | None) -> None:
        with self.cursor.store.transaction() as tx:
            latest = self.cursor.lease.latest_claim(tx, self.me.topic_id, self.me.agent_name)
        self.me = self.me._replace(claim=latest)
        super().exchange(items, ack_through)


cursor.SyncCall = Call


if __name__ == "__main__":
    raise SystemExit(main())
