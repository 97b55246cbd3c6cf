"""A token is the hash of its name, so an agent with the name on another topic knows it."""

import hashlib
from typing import Any

from refbus.topics import bus
from refbus.topics.lease import Lease
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.lease.21", "topics.lease.29")


class Fault(Lease):
    def claim(self, tx: Any, topic_id: str, agent_name: str, token: str | None) -> Any:
        claim = super().claim(tx, topic_id, agent_name, token)
        token = hashlib.sha256(agent_name.encode()).hexdigest()[:32]
        sql = "UPDATE agent_name_reservations SET reclaim_token = ? WHERE topic_id = ? AND agent_name = ?"
        tx.execute(sql, (token, topic_id, agent_name))
        return claim._replace(reclaim_token=token)


bus.Lease = Fault


if __name__ == "__main__":
    raise SystemExit(main())
