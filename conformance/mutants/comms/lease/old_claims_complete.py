"""A claimer completes its message, though its claim is over and another process has one by now."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.lease.28",)
CHAOS = {"holds": True, "only": "claim_message", "against": "a claim after the time-out that it got"}


class Mutant(CommsBus):
    def complete_message(self, message_id: str, error: Any = None, **more: Any) -> dict[str, Any]:
        more.pop("delivery_count", None)
        return super().complete_message(message_id, error, **more)


if __name__ == "__main__":
    serve({"comms": Mutant})
