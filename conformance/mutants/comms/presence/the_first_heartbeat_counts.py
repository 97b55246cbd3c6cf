"""A second heartbeat changes nothing."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.presence.02", "comms.presence.06")
CONTROL = "presence.unknown"


class Mutant(CommsBus):
    def send_heartbeat(self, agent_id: str, status: str, current_task: str | None = None) -> dict[str, Any]:
        known = self.store.db.row("SELECT 1 FROM agent_status WHERE agent_id = ?", (agent_id,))
        return {} if known else super().send_heartbeat(agent_id, status, current_task)


if __name__ == "__main__":
    serve({"comms": Mutant})
