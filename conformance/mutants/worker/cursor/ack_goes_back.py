"""A late ack moves the cursor back."""

from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.cursor.08", "worker.cursor.11", "worker.cursor.17")


class Mutant(WorkerBus):
    def ack(self, agent_id: str, seq: int) -> dict[str, Any]:
        super().ack(agent_id, seq)
        self.db.write("UPDATE cursors SET last_acked_seq = ? WHERE agent_id = ?", (seq, agent_id))
        return {"last_acked_seq": seq}


if __name__ == "__main__":
    serve({"worker": Mutant})
