"""topic_join looks whether a name is free in one transaction and takes it in another."""

from typing import Any

from refbus.topics.bus import TopicsBus
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.lease.11",)

_RESERVATION = "FROM agent_name_reservations WHERE topic_id = ? AND agent_name = ?"


class Mutant(TopicsBus):
    def topic_join(self, agent_name: str, topic_id: Any = None, **kwargs: Any) -> dict[str, Any]:
        key = (topic_id, agent_name)
        with self.store.snapshot() as tx:
            is_free = not tx.execute(f"SELECT 1 {_RESERVATION}", key).fetchone()
        if is_free:
            with self.store.transaction() as tx:
                tx.execute(f"DELETE {_RESERVATION}", key)
        return super().topic_join(agent_name, topic_id, **kwargs)


if __name__ == "__main__":
    raise SystemExit(main(Mutant))
