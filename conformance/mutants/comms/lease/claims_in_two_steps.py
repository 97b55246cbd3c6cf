"""Look, then take, in two transactions: two processes may both find the message free."""

import time
from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.lease.27",)
CHAOS = {"holds": True, "only": "claim_message"}


class ClaimsInTwoSteps(CommsBus):
    """Pauses between the two, as a slow disk would; its finding stands."""

    def claim_message(self, agent_id: str, message_id: str) -> dict[str, Any]:
        row = self.store.db.row("SELECT status, delivery_count FROM messages WHERE id = ?", (message_id,))
        if row is None or row[0] != "pending":
            return super().claim_message(agent_id=agent_id, message_id=message_id)
        time.sleep(0.05)
        with self.store.transaction() as tx:
            tx.execute("UPDATE messages SET status = 'pending' WHERE id = ?", (message_id,))
        return super().claim_message(agent_id=agent_id, message_id=message_id)


if __name__ == "__main__":
    serve({"comms": ClaimsInTwoSteps})
