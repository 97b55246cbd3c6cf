"""A claim does not raise delivery_count (C1)."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.retry.04",)
CONTROL = "retry.backoff"


class Mutant(CommsBus):
    def claim_message(self, agent_id: str, message_id: str) -> dict[str, Any]:
        reply = super().claim_message(agent_id, message_id)
        self.store.db.write("UPDATE messages SET delivery_count = 0 WHERE id = ?", (message_id,))
        return reply


if __name__ == "__main__":
    serve({"comms": Mutant})
