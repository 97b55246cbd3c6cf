"""The name of who is no longer present is free."""

from typing import Any

from refbus.topics.bus import TopicsBus
from refbus.topics.mcp.server import main
from refbus.topics.store import Identity

KILLED_BY = ("topics.lease.22",)

_FORGET = """
    DELETE FROM agent_name_reservations WHERE topic_id = ? AND agent_name IN (
        SELECT agent_name FROM cursors WHERE topic_id = ? AND updated_at < ?)
"""


class Mutant(TopicsBus):
    def _claim(self, connection: Any, topic_id: str, agent_name: str, token: str | None) -> Identity:
        connection.execute(_FORGET, (topic_id, topic_id, self._now() - 300))
        return super()._claim(connection, topic_id, agent_name, token)


if __name__ == "__main__":
    raise SystemExit(main(Mutant))
