"""A redriven message keeps its old expiry."""

from typing import Any

from refbus.comms import bus
from refbus.comms.retry import Retries
from refbus.driver import serve

KILLED_BY = ("comms.retry.13",)


class Mutant(Retries):
    def put_back(self, tx: Any, message: Any, agent_id: Any) -> None:
        super().put_back(tx, message, agent_id)
        tx.execute("UPDATE messages SET expires_at = ? WHERE id = ?", (message["expires_at"], message["id"]))


bus.Retries = Mutant

if __name__ == "__main__":
    serve({"comms": bus.CommsBus})
