"""cursor_reset by an agent that has not joined is no error."""

from typing import Any

from refbus.topics.bus import TopicsBus
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.cursor.46",)


class Mutant(TopicsBus):
    def cursor_reset(self, topic_id: str, last_seq: int = 0) -> dict[str, Any]:
        if topic_id not in self.lease.joined:
            cursor = {"last_seq": last_seq, "updated_at": self.store.clock.now_us() / 1_000_000}
            return {"topic_id": topic_id, "agent_name": "?", "cursor": cursor}
        return super().cursor_reset(topic_id, last_seq)


if __name__ == "__main__":
    raise SystemExit(main(Mutant))
