"""An agent that was never seen is idle."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve
from refbus.kernel.errors import NotFound

KILLED_BY = ("comms.presence.07",)


class Mutant(CommsBus):
    def get_agent_health(self, agent_id: str) -> dict[str, Any]:
        try:
            return super().get_agent_health(agent_id)
        except NotFound:
            counters = dict.fromkeys(("messages_pending", "messages_processed", "error_count"), 0)
            return {"agent_id": agent_id, "status": "idle", "last_heartbeat": self.store.now(), **counters}


if __name__ == "__main__":
    serve({"comms": Mutant})
