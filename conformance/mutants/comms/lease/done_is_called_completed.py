"""The status of a done message is `completed`."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.lease.08",)


class Mutant(CommsBus):
    def complete_message(self, message_id: str, error: Any = None, **more: Any) -> dict[str, Any]:
        reply = super().complete_message(message_id, error, **more)
        self.store.db.write("UPDATE messages SET status = 'completed' WHERE id = ? AND status = 'done'", (message_id,))
        return reply


if __name__ == "__main__":
    serve({"comms": Mutant})
