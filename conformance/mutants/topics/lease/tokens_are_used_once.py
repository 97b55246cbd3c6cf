"""Reclaiming a name gives it a new token."""

import secrets
from typing import Any

from refbus.topics import bus
from refbus.topics.lease import Lease
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.lease.13",)


class Fault(Lease):
    def claim(self, tx: Any, topic_id: str, agent_name: str, token: str | None) -> Any:
        claim = super().claim(tx, topic_id, agent_name, token)
        if token is None:
            return claim
        token = secrets.token_hex(16)
        sql = "UPDATE agent_name_reservations SET reclaim_token = ? WHERE topic_id = ? AND agent_name = ?"
        tx.execute(sql, (token, topic_id, agent_name))
        return claim._replace(reclaim_token=token)


bus.Lease = Fault


if __name__ == "__main__":
    raise SystemExit(main())
