"""The text of an error is lost."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.retry.01",)
CONTROL = "retry.backoff"


class Mutant(CommsBus):
    def complete_message(self, message_id: str, error: Any = None, **more: Any) -> dict[str, Any]:
        reply = super().complete_message(message_id, error, **more)
        self.store.db.write("UPDATE messages SET error = NULL WHERE id = ?", (message_id,))
        return reply


if __name__ == "__main__":
    serve({"comms": Mutant})
