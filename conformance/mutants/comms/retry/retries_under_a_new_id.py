"""Each attempt of send_with_retry has an id of its own. One whose answer was lost is sent twice."""

import uuid
from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.log.73",)
CHAOS = {"disk_full": True, "only": "send_with_retry", "levels": (), "errors": ("EIO",)}


class RetriesUnderANewId(CommsBus):
    """The first attempt has the caller's."""

    def send_with_retry(self, max_attempts: int = 3, base_delay: float = 1.0, **message: Any) -> Any:
        try:
            return super().send_message(**message)
        except Exception:
            return super().send_message(**{**message, "message_id": str(uuid.uuid4())})


if __name__ == "__main__":
    serve({"comms": RetriesUnderANewId})
