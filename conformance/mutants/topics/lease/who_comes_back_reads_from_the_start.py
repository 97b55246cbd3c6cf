"""Reclaiming a name sets its cursor to 0."""

from typing import Any

from refbus.topics import bus
from refbus.topics.lease import Lease
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.lease.15",)


class Fault(Lease):
    def claim(self, tx: Any, topic_id: str, agent_name: str, token: str | None) -> Any:
        claim = super().claim(tx, topic_id, agent_name, token)
        if token is not None:
            sql = "UPDATE cursors SET last_seq = 0 WHERE topic_id = ? AND agent_name = ?"
            tx.execute(sql, (topic_id, agent_name))
        return claim


bus.Lease = Fault


if __name__ == "__main__":
    raise SystemExit(main())
