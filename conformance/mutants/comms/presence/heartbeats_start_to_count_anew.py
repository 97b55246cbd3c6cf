"""A heartbeat puts a new row in the place of the agent's, and with it counters that are zero."""

from typing import Any

from refbus.comms import bus
from refbus.comms.presence import Presence
from refbus.driver import serve

KILLED_BY = ("comms.presence.14",)


class Mutant(Presence):
    def send_heartbeat(self, agent_id: str, status: str, current_task: str | None = None) -> Any:
        reply = super().send_heartbeat(agent_id, status, current_task)
        self.store.db.write(
            "UPDATE agent_status SET messages_pending = 0, messages_processed = 0, error_count = 0 WHERE agent_id = ?",
            (agent_id,),
        )
        return reply


bus.Presence = Mutant

if __name__ == "__main__":
    serve({"comms": bus.CommsBus})
