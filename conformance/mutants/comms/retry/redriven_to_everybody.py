"""The dead letter of a broadcast comes back to all agents."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.retry.18",)


class Mutant(CommsBus):
    def redrive(self, id: str) -> dict[str, Any]:
        reply = super().redrive(id)
        self.store.db.write("DELETE FROM message_deliveries WHERE message_id = ?", (id.split(":")[0],))
        return reply


if __name__ == "__main__":
    serve({"comms": Mutant})
