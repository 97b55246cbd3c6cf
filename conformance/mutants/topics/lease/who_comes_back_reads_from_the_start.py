"""Reclaiming a name sets its cursor to 0."""

from typing import Any

from refbus.topics.bus import TopicsBus
from refbus.topics.mcp.server import main
from refbus.topics.store import Identity

KILLED_BY = ("topics.lease.15",)


class Mutant(TopicsBus):
    def _claim(self, connection: Any, topic_id: str, agent_name: str, token: str | None) -> Identity:
        identity = super()._claim(connection, topic_id, agent_name, token)
        if token is not None:
            sql = "UPDATE cursors SET last_seq = 0 WHERE topic_id = ? AND agent_name = ?"
            connection.execute(sql, (topic_id, agent_name))
        return identity


if __name__ == "__main__":
    raise SystemExit(main(Mutant))
