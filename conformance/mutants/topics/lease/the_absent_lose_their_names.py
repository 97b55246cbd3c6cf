"""The name of an agent that is no longer present is free."""

from typing import Any

from refbus.topics import bus
from refbus.topics.lease import Lease
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.lease.22",)

_FORGET = """
    DELETE FROM agent_name_reservations WHERE topic_id = ? AND agent_name IN (
        SELECT agent_name FROM cursors WHERE topic_id = ? AND updated_at < ?)
"""


class Fault(Lease):
    def claim(self, tx: Any, topic_id: str, agent_name: str, token: str | None) -> Any:
        tx.execute(_FORGET, (topic_id, topic_id, tx.now_s - 300))
        return super().claim(tx, topic_id, agent_name, token)


bus.Lease = Fault


if __name__ == "__main__":
    raise SystemExit(main())
