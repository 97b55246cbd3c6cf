"""cursor_reset moves the cursors of all agents of the topic."""

from typing import Any

from refbus.topics.bus import TopicsBus
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.cursor.43",)


class Mutant(TopicsBus):
    def cursor_reset(self, topic_id: str, last_seq: int = 0) -> dict[str, Any]:
        reply = super().cursor_reset(topic_id, last_seq)
        with self.store.transaction() as tx:
            tx.execute("UPDATE cursors SET last_seq = ? WHERE topic_id = ?", (last_seq, topic_id))
        return reply


if __name__ == "__main__":
    raise SystemExit(main(Mutant))
