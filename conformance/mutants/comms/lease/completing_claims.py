"""Completing a message that nobody has claimed claims it."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.lease.23",)


class Mutant(CommsBus):
    def complete_message(
        self, message_id: str, error: Any = None, agent_id: Any = None, delivery_count: Any = None
    ) -> dict[str, Any]:
        if agent_id is not None:
            self.claim_message(agent_id, message_id)
        return super().complete_message(message_id, error, agent_id, delivery_count)


if __name__ == "__main__":
    serve({"comms": Mutant})
