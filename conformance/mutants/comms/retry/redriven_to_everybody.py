"""The dead letter of a broadcast comes back to all agents."""

from typing import Any

from refbus.comms import bus
from refbus.comms.retry import Retries
from refbus.driver import serve

KILLED_BY = ("comms.retry.18",)


class Mutant(Retries):
    def put_back(self, tx: Any, message: Any, agent_id: Any) -> None:
        super().put_back(tx, message, agent_id)
        tx.execute("DELETE FROM message_deliveries WHERE message_id = ?", (message["id"],))


bus.Retries = Mutant

if __name__ == "__main__":
    serve({"comms": bus.CommsBus})
