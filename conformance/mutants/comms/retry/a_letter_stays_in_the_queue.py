"""A dead letter that was redriven is still a dead letter; it is redriven again once its agent is done with it."""

from typing import Any

from refbus.comms import bus, retry
from refbus.comms.retry import Retries
from refbus.driver import serve
from refbus.kernel.rules import limit as limits

KILLED_BY = ("comms.retry.14",)


class Mutant(Retries):
    def redrive(self, id: str) -> Any:
        limits.text("id", id)
        with self.store.transaction() as tx:
            row = tx.row("SELECT original_message FROM dead_letter_queue WHERE id = ?", (id,))
            if row is None:
                return {"redriven": False}
            message = retry._whole(row[0])
            agent_id = message["to_agent"] or retry._agent_of(id, message["id"])
            own = (message["id"], agent_id)
            dead = tx.row("SELECT 1 FROM message_deliveries WHERE (message_id, agent_id, status) = (?, ?, 'dead')", own)
            if dead is None and tx.row("SELECT 1 FROM messages WHERE id = ?", own[:1]) is not None:
                return {"redriven": False}
            tx.execute("DELETE FROM message_deliveries WHERE message_id = ? AND agent_id = ?", own)
            self.log.remove_expired(tx, message["id"])
            self.put_back(tx, message, agent_id)
            self.audit.record(tx, "redriven", agent_id, message["id"])
        return {"redriven": True}


bus.Retries = Mutant

if __name__ == "__main__":
    serve({"comms": bus.CommsBus})
