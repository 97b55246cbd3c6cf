"""A new server is on a topic who joined it last."""

from refbus.topics.bus import TopicsBus
from refbus.topics.mcp.server import main
from refbus.topics.store import Identity

KILLED_BY = ("topics.lease.16",)

_LAST = """
    SELECT agent_name, reclaim_token, fence, last_claimed_at
    FROM agent_name_reservations JOIN reservation_fences USING (topic_id, agent_name)
    WHERE topic_id = ? ORDER BY last_claimed_at DESC
"""


class Mutant(TopicsBus):
    def _my_name(self, topic_id: str) -> str:
        if topic_id not in self._joined:
            with self._snapshot() as connection:
                row = connection.execute(_LAST, (topic_id,)).fetchone()
            if row is not None:
                self._joined[topic_id] = Identity(*row)
        return super()._my_name(topic_id)


if __name__ == "__main__":
    raise SystemExit(main(Mutant))
