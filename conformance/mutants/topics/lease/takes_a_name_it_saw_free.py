"""topic_join sees that nobody has a name, and then takes it from any agent that has it by now."""

from typing import Any

from refbus.topics.bus import TopicsBus
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.log.84", "topics.lease.30")
CHAOS = {"holds": True, "only": "topic_join"}

_OF_THE_NAME = "FROM agent_name_reservations WHERE topic_id = ? AND agent_name = ?"


class TakesANameItSawFree(TopicsBus):
    """Any change between the two transactions is undone."""

    def topic_join(self, agent_name: str, topic_id: Any = None, **more: Any) -> dict[str, Any]:
        place = (topic_id, agent_name)
        with self.store.snapshot() as tx:
            taken = tx.row(f"SELECT 1 {_OF_THE_NAME}", place)
        if taken is None:
            with self.store.transaction() as tx:
                tx.execute(f"DELETE {_OF_THE_NAME}", place)
        return super().topic_join(agent_name, topic_id, **more)


if __name__ == "__main__":
    raise SystemExit(main(TakesANameItSawFree))
