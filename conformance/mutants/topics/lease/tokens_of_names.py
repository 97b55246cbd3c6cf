"""A token is the hash of its name."""

import hashlib
from dataclasses import replace
from typing import Any

from refbus.topics.bus import TopicsBus
from refbus.topics.mcp.server import main
from refbus.topics.store import Identity

KILLED_BY = ("topics.lease.21",)


class Mutant(TopicsBus):
    def _claim(self, connection: Any, topic_id: str, agent_name: str, token: str | None) -> Identity:
        identity = super()._claim(connection, topic_id, agent_name, token)
        token = hashlib.sha256(agent_name.encode()).hexdigest()[:32]
        sql = "UPDATE agent_name_reservations SET reclaim_token = ? WHERE topic_id = ? AND agent_name = ?"
        connection.execute(sql, (token, topic_id, agent_name))
        return replace(identity, reclaim_token=token)


if __name__ == "__main__":
    raise SystemExit(main(Mutant))
