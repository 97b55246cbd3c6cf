"""A name that is reserved on one topic is reserved on all."""

from typing import Any

from refbus.kernel.errors import AgentNameInUse
from refbus.topics.bus import TopicsBus
from refbus.topics.mcp.server import main
from refbus.topics.store import Identity

KILLED_BY = ("topics.lease.10",)


class Mutant(TopicsBus):
    def _claim(self, connection: Any, topic_id: str, agent_name: str, token: str | None) -> Identity:
        sql = "SELECT 1 FROM agent_name_reservations WHERE topic_id <> ? AND agent_name = ?"
        if token is None and connection.execute(sql, (topic_id, agent_name)).fetchone():
            raise AgentNameInUse("the name is reserved")
        return super()._claim(connection, topic_id, agent_name, token)


if __name__ == "__main__":
    raise SystemExit(main(Mutant))
