"""A join sets the cursor to 0, also that of a name that is reclaimed."""

from typing import Any

from refbus.topics.bus import TopicsBus
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.cursor.37", "topics.cursor.38")

REWIND = "UPDATE cursors SET last_seq = 0 WHERE topic_id = ? AND agent_name = ?"


class Mutant(TopicsBus):
    def topic_join(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        reply = super().topic_join(*args, **kwargs)
        with self.store.transaction() as tx:
            tx.execute(REWIND, (reply["topic_id"], reply["agent_name"]))
        return reply


if __name__ == "__main__":
    raise SystemExit(main(Mutant))
