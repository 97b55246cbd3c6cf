"""A new server is, on a topic, the agent that joined it last."""

from refbus.kernel.rules.sync import Claim
from refbus.topics import bus
from refbus.topics.lease import Identity, Lease
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.lease.16",)

_LAST = """
    SELECT agent_name, reclaim_token, fence, last_claimed_at
    FROM agent_name_reservations JOIN reservation_fences USING (topic_id, agent_name)
    WHERE topic_id = ? ORDER BY last_claimed_at DESC
"""


class Fault(Lease):
    def identity(self, topic_id: str) -> Identity:
        if topic_id not in self.joined:
            with self._store.snapshot() as tx:
                row = tx.row(_LAST, (topic_id,))
            if row is not None:
                self.joined[topic_id] = Identity(topic_id, row[0], Claim(*row[1:]))
        return super().identity(topic_id)


bus.Lease = Fault


if __name__ == "__main__":
    raise SystemExit(main())
