"""cursor_reset never goes back."""

from typing import Any

from refbus.topics.bus import TopicsBus
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.cursor.40", "topics.cursor.41", "topics.cursor.42")

_AT = "SELECT coalesce(max(last_seq), 0) FROM cursors WHERE topic_id = ? AND agent_name = ?"


class Mutant(TopicsBus):
    def cursor_reset(self, topic_id: str, last_seq: int = 0) -> dict[str, Any]:
        key = (topic_id, self.lease.identity(topic_id).agent_name)
        with self.store.snapshot() as tx:
            (at,) = tx.execute(_AT, key).fetchone()
        return super().cursor_reset(topic_id, max(at, last_seq))


if __name__ == "__main__":
    raise SystemExit(main(Mutant))
