"""A redriven message has two attempts left."""

from typing import Any

from refbus.comms import bus
from refbus.comms.retry import Retries
from refbus.driver import serve

KILLED_BY = ("comms.retry.15",)


class Mutant(Retries):
    def put_back(self, tx: Any, message: Any, agent_id: Any) -> None:
        super().put_back(tx, message, agent_id)
        tx.execute(
            "INSERT INTO message_deliveries VALUES (?, ?, 'pending', 0, 1, ?, NULL)",
            (message["id"], agent_id, self.store.now()),
        )


bus.Retries = Mutant

if __name__ == "__main__":
    serve({"comms": bus.CommsBus})
