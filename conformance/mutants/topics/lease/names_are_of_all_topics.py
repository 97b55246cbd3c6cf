"""A name that is reserved on one topic is reserved on all."""

from typing import Any

from refbus.kernel.errors import AgentNameInUse
from refbus.topics import bus
from refbus.topics.lease import Lease
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.lease.10",)
CONTROL = "lease.bad_join"


class Fault(Lease):
    def claim(self, tx: Any, topic_id: str, agent_name: str, token: str | None) -> Any:
        sql = "SELECT 1 FROM agent_name_reservations WHERE topic_id <> ? AND agent_name = ?"
        if token is None and tx.row(sql, (topic_id, agent_name)):
            raise AgentNameInUse("the name is reserved")
        return super().claim(tx, topic_id, agent_name, token)


bus.Lease = Fault


if __name__ == "__main__":
    raise SystemExit(main())
