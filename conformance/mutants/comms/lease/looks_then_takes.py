"""A claim looks first and takes later."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.lease.09",)


class Mutant(CommsBus):
    def claim_message(self, agent_id: str, message_id: str) -> dict[str, Any]:
        row = self.store.db.row("SELECT status FROM messages WHERE id = ?", (message_id,))
        if row is None or row[0] != "pending":
            return {"claimed": False}
        super().claim_message(agent_id, message_id)
        return {"claimed": True}


if __name__ == "__main__":
    serve({"comms": Mutant})
