"""Reads on from the time of the last acknowledged message: one from an agent whose clock is behind is never read."""

from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.log.54",)
CHAOS = {"kills": 100}


class Mutant(WorkerBus):
    def poll(self, *, agent_id: str, **more: Any) -> dict[str, Any]:
        reply = super().poll(agent_id=agent_id, **more)
        (since,) = self.db.row(_ACKNOWLEDGED, {"agent": agent_id})
        return {**reply, "messages": [one for one in reply["messages"] if one["ts_ms"] >= (since or 0)]}


_ACKNOWLEDGED = """
    SELECT max(ts_ms) FROM (
        SELECT seq, ts_ms, to_agent FROM messages UNION ALL SELECT seq, ts_ms, to_agent FROM archived_messages
    )
    WHERE coalesce(to_agent, :agent) = :agent
    AND seq <= (SELECT last_acked_seq FROM cursors WHERE agent_id = :agent)
"""


if __name__ == "__main__":
    serve({"worker": Mutant})
