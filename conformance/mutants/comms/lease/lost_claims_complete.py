"""The delivery_count of a completion is not looked at."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve
from refbus.kernel.rules import limit as limits

KILLED_BY = ("comms.lease.17",)


class Mutant(CommsBus):
    def complete_message(
        self, message_id: str, error: Any = None, agent_id: Any = None, delivery_count: Any = None
    ) -> dict[str, Any]:
        if delivery_count is not None:
            limits.integer("delivery_count", delivery_count, 1)
        return super().complete_message(message_id, error, agent_id)


if __name__ == "__main__":
    serve({"comms": Mutant})
