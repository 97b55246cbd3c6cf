"""A session whose name was taken over goes on under it."""

from typing import Any

from refbus.topics import lease
from refbus.topics.bus import TopicsBus
from refbus.topics.lease import Standing
from refbus.topics.mcp.server import main
from refbus.topics.store import Identity

KILLED_BY = ("topics.lease.25",)


class Mutant(TopicsBus):
    def _standing(self, connection: Any, topic_id: str) -> Standing:
        key = {"topic": topic_id, "agent": self._joined[topic_id].agent_name}
        row = connection.execute(lease._RESERVED, key).fetchone()
        self._joined[topic_id] = Identity(key["agent"], *row)
        return super()._standing(connection, topic_id)


if __name__ == "__main__":
    raise SystemExit(main(Mutant))
