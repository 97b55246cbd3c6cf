"""A new reader begins after the newest message."""

from typing import Any

from refbus.topics.bus import TopicsBus
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.cursor.02",)

BEGIN = """
    INSERT OR IGNORE INTO cursors
    SELECT ?, ?, coalesce(max(seq), 0), 0 FROM messages WHERE topic_id = ?
"""


class Mutant(TopicsBus):
    def topic_join(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        reply = super().topic_join(*args, **kwargs)
        with self.store.transaction() as tx:
            tx.execute(BEGIN, (reply["topic_id"], reply["agent_name"], reply["topic_id"]))
        return reply


if __name__ == "__main__":
    raise SystemExit(main(Mutant))
