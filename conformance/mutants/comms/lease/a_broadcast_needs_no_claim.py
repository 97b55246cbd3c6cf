"""A broadcast is completed without a claim."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve
from refbus.kernel.rules import limit as limits

KILLED_BY = ("comms.lease.23",)


class Mutant(CommsBus):
    def complete_message(
        self, message_id: str, error: Any = None, agent_id: Any = None, delivery_count: Any = None
    ) -> dict[str, Any]:
        limits.text("message_id", message_id)
        row = self.store.db.row("SELECT to_agent FROM messages WHERE id = ?", (message_id,))
        if row == (None,) and agent_id is not None:
            self.claim_message(agent_id, message_id)
        return super().complete_message(message_id, error, agent_id, delivery_count)


if __name__ == "__main__":
    serve({"comms": Mutant})
