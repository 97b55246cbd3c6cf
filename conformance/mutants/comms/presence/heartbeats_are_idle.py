"""An agent is idle, whatever it says."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.presence.01", "comms.presence.04")
CONTROL = "presence.last_heartbeat"


class Mutant(CommsBus):
    def send_heartbeat(self, agent_id: str, status: str, current_task: str | None = None) -> dict[str, Any]:
        return super().send_heartbeat(agent_id, "idle", current_task)


if __name__ == "__main__":
    serve({"comms": Mutant})
