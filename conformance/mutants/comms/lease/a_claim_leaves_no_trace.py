"""The row of a claimed message does not say so."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.lease.04",)
CONTROL = "lease.complete"


class Mutant(CommsBus):
    def claim_message(self, agent_id: str, message_id: str) -> dict[str, Any]:
        reply = super().claim_message(agent_id, message_id)
        self.store.db.write(
            "UPDATE messages SET last_delivered_at = NULL WHERE id = ? AND status = 'processing'", (message_id,)
        )
        return reply


if __name__ == "__main__":
    serve({"comms": Mutant})
