"""Every claim of a broadcast is granted."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.lease.22",)


class Mutant(CommsBus):
    def claim_message(self, agent_id: str, message_id: str) -> dict[str, Any]:
        row = self.store.db.row("SELECT to_agent FROM messages WHERE id = ?", (message_id,))
        reply = super().claim_message(agent_id, message_id)
        return {"claimed": True} if row == (None,) else reply


if __name__ == "__main__":
    serve({"comms": Mutant})
