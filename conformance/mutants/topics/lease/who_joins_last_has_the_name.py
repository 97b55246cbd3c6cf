"""A name goes to whoever joins with it last."""

from typing import Any

from refbus.topics import lease
from refbus.topics.bus import TopicsBus
from refbus.topics.mcp.server import main
from refbus.topics.store import Identity

KILLED_BY = ("topics.lease.07", "topics.lease.09", "topics.lease.11", "topics.lease.14")


class Mutant(TopicsBus):
    def _claim(self, connection: Any, topic_id: str, agent_name: str, token: str | None) -> Identity:
        row = connection.execute(lease._RESERVED, {"topic": topic_id, "agent": agent_name}).fetchone()
        return super()._claim(connection, topic_id, agent_name, row[0] if row else token)


if __name__ == "__main__":
    raise SystemExit(main(Mutant))
