"""By default cursor_reset goes to the newest message, and nothing is replayed."""

from typing import Any

from refbus.topics.bus import TopicsBus
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.cursor.41",)


class Mutant(TopicsBus):
    def cursor_reset(self, topic_id: str, last_seq: int | None = None) -> dict[str, Any]:
        sql = "SELECT coalesce(max(seq), 0) FROM messages WHERE topic_id = ?"
        with self.store.snapshot() as tx:
            (newest,) = tx.execute(sql, (topic_id,)).fetchone()
        return super().cursor_reset(topic_id, newest if last_seq is None else last_seq)


if __name__ == "__main__":
    raise SystemExit(main(Mutant))
