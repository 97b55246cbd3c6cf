"""A name that an older server knew is taken, though it has no token."""

from typing import Any

from refbus.kernel.errors import AgentNameInUse
from refbus.topics.bus import TopicsBus
from refbus.topics.mcp.server import main
from refbus.topics.store import Identity

KILLED_BY = ("topics.lease.23",)


class Mutant(TopicsBus):
    def _claim(self, connection: Any, topic_id: str, agent_name: str, token: str | None) -> Identity:
        sql = "SELECT 1 FROM cursors WHERE topic_id = ? AND agent_name = ?"
        if token is None and connection.execute(sql, (topic_id, agent_name)).fetchone():
            raise AgentNameInUse("the name is reserved")
        return super()._claim(connection, topic_id, agent_name, token)


if __name__ == "__main__":
    raise SystemExit(main(Mutant))
