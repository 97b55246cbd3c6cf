"""A done message is failed if an error comes after it, and comes again."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.lease.08", "comms.retry.01")
ITEM = "corpus:060012"


class Mutant(CommsBus):
    def complete_message(
        self, message_id: str, error: Any = None, agent_id: Any = None, delivery_count: Any = None
    ) -> dict[str, Any]:
        reply = super().complete_message(message_id, error, agent_id, delivery_count)
        if error is not None and reply["status"] == "done":
            self.store.db.write("UPDATE messages SET status = 'failed', error = ? WHERE id = ?", (error, message_id))
        return reply


if __name__ == "__main__":
    serve({"comms": Mutant})
