"""An agent that asks for a taken name is told the token by which it could be had."""

from typing import Any

from refbus.kernel.errors import AgentNameInUse
from refbus.topics import bus
from refbus.topics.lease import Lease
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.lease.29",)


class Fault(Lease):
    def claim(self, tx: Any, topic_id: str, agent_name: str, token: str | None) -> Any:
        try:
            return super().claim(tx, topic_id, agent_name, token)
        except AgentNameInUse as refused:
            holder = self.latest_claim(tx, topic_id, agent_name)
            raise AgentNameInUse(f"{refused}; its token is {holder.reclaim_token if holder else '?'}") from None


bus.Lease = Fault


if __name__ == "__main__":
    raise SystemExit(main())
