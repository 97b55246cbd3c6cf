"""The delivery_count of a completion is not looked at."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.lease.17",)


class Mutant(CommsBus):
    def complete_message(self, message_id: str, error: Any = None, **more: Any) -> dict[str, Any]:
        more.pop("delivery_count", None)
        return super().complete_message(message_id, error, **more)


if __name__ == "__main__":
    serve({"comms": Mutant})
