"""An agent that claims a broadcast takes it from all (C3)."""

from typing import Any

from refbus.comms import lease
from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.route.38", "comms.lease.19", "comms.lease.21")

assert "to_agent IS NULL)" in lease._CLAIMABLE
lease._CLAIMABLE = lease._CLAIMABLE.replace("to_agent IS NULL)", "to_agent IS NULL AND status = 'pending')")


class Mutant(CommsBus):
    def claim_message(self, agent_id: str, message_id: str) -> dict[str, Any]:
        reply = super().claim_message(agent_id, message_id)
        if reply["claimed"]:
            self.store.db.write("UPDATE messages SET status = 'processing' WHERE id = ?", (message_id,))
        return reply


if __name__ == "__main__":
    serve({"comms": Mutant})
