"""A name that an older server knew is taken, though it has no token."""

from typing import Any

from refbus.kernel.errors import AgentNameInUse
from refbus.topics import bus
from refbus.topics.lease import Lease
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.lease.23",)


class Fault(Lease):
    def claim(self, tx: Any, topic_id: str, agent_name: str, token: str | None) -> Any:
        sql = "SELECT 1 FROM cursors WHERE topic_id = ? AND agent_name = ?"
        if token is None and tx.row(sql, (topic_id, agent_name)):
            raise AgentNameInUse("the name is reserved")
        return super().claim(tx, topic_id, agent_name, token)


bus.Lease = Fault


if __name__ == "__main__":
    raise SystemExit(main())
