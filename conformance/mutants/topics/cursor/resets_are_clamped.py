"""A cursor_reset to a seq that does not exist goes to the nearest that does."""

from typing import Any

from refbus.topics.bus import TopicsBus
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.cursor.44", "topics.cursor.45")


class Mutant(TopicsBus):
    def cursor_reset(self, topic_id: str, last_seq: int = 0) -> dict[str, Any]:
        sql = "SELECT coalesce(max(seq), 0) FROM messages WHERE topic_id = ?"
        with self.store.snapshot() as tx:
            (newest,) = tx.execute(sql, (topic_id,)).fetchone()
        return super().cursor_reset(topic_id, max(0, min(last_seq, newest)))


if __name__ == "__main__":
    raise SystemExit(main(Mutant))
