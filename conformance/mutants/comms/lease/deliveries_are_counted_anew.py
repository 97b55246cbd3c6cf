"""A claim that timed out is not counted."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.lease.15",)


class Mutant(CommsBus):
    def claim_message(self, agent_id: str, message_id: str) -> dict[str, Any]:
        reply = super().claim_message(agent_id, message_id)
        self.store.db.write(
            "UPDATE messages SET delivery_count = 1 WHERE id = ? AND status = 'processing'", (message_id,)
        )
        return reply


if __name__ == "__main__":
    serve({"comms": Mutant})
