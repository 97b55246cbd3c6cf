"""No claim is ever granted."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.lease.01", "comms.lease.25")
CONTROL = "lease.unclaimed"


class Mutant(CommsBus):
    def claim_message(self, agent_id: str, message_id: str) -> dict[str, Any]:
        return {"claimed": False}


if __name__ == "__main__":
    serve({"comms": Mutant})
