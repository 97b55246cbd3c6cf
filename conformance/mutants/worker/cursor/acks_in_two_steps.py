"""An acknowledgement looks, then sets the cursor: a lower one that looked before another wrote sets it back."""

from refbus.driver import serve
from refbus.kernel.rules import cursor
from refbus.worker.bus import WorkerBus
from refbus.worker.replies import Acknowledged

KILLED_BY = ("worker.log.66",)
CHAOS = {"holds": True, "only": "ack", "against": "an earlier ack"}


class AcksInTwoSteps(WorkerBus):
    """Each of the two is right alone."""

    def ack(self, agent_id: str, seq: int) -> Acknowledged:
        (current,) = self.db.row("SELECT COALESCE(MAX(last_acked_seq), 0) FROM cursors WHERE agent_id = ?", (agent_id,))
        (newest,) = self.db.row("SELECT COALESCE(MAX(seq), 0) FROM messages")
        moved_to = cursor.advance(current, seq, newest)
        self.db.write(
            "INSERT OR REPLACE INTO cursors VALUES (?, ?, ?)", (agent_id, moved_to, self.store.clock.now_ms())
        )
        return {"last_acked_seq": moved_to}


if __name__ == "__main__":
    serve({"worker": AcksInTwoSteps})
