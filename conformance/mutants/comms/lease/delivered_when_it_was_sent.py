"""last_delivered_at is the time of sending."""

from typing import Any

from refbus.comms import bus
from refbus.comms.lease import Leases
from refbus.driver import serve

KILLED_BY = ("comms.lease.04",)
ITEM = "corpus"
CONTROL = "log.envelope"


class Mutant(Leases):
    def claim_message(self, agent_id: str, message_id: str) -> Any:
        reply = super().claim_message(agent_id, message_id)
        update = "UPDATE messages SET last_delivered_at = timestamp WHERE id = ? AND status = 'processing'"
        self.store.db.write(update, (message_id,))
        return reply


bus.Leases = Mutant


if __name__ == "__main__":
    serve({"comms": bus.CommsBus})
