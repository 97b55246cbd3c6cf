"""A message that failed once is failed when it is done."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.retry.05",)
CONTROL = "retry.backoff"


class Mutant(CommsBus):
    def complete_message(self, message_id: str, error: Any = None, **more: Any) -> dict[str, Any]:
        row = self.store.db.row("SELECT error FROM messages WHERE id = ?", (message_id,))
        return super().complete_message(message_id, error or (row and row[0]), **more)


if __name__ == "__main__":
    serve({"comms": Mutant})
