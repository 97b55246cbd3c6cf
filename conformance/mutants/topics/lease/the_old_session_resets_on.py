"""A session whose name was reclaimed can still move the cursor."""

from typing import Any

from refbus.topics import cursor
from refbus.topics.bus import TopicsBus
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.lease.28",)


class Mutant(TopicsBus):
    def cursor_reset(self, topic_id: str, last_seq: int = 0) -> Any:
        me = self.lease.identity(topic_id)
        with self.store.transaction() as tx:
            latest = self.lease.latest_claim(tx, topic_id, me.agent_name)
            if latest not in (None, me.claim):
                cursor.move(tx, me, last_seq)
                return {
                    "topic_id": topic_id,
                    "agent_name": me.agent_name,
                    "cursor": {"last_seq": last_seq, "updated_at": tx.now_s},
                }
        return super().cursor_reset(topic_id, last_seq)


if __name__ == "__main__":
    raise SystemExit(main(Mutant))
