"""Every claim is granted."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.lease.02", "comms.lease.05", "comms.lease.26")
CONTROL = "lease.unclaimed"


class Mutant(CommsBus):
    def claim_message(self, agent_id: str, message_id: str) -> dict[str, Any]:
        super().claim_message(agent_id, message_id)
        return {"claimed": True}


if __name__ == "__main__":
    serve({"comms": Mutant})
