"""One agent's dead letter takes a broadcast from the others."""

from typing import Any

from refbus.comms import bus
from refbus.comms.lease import Leases
from refbus.driver import serve

KILLED_BY = ("comms.retry.17",)


class Mutant(Leases):
    def bury(self, tx: Any, message_id: str, *args: Any) -> None:
        super().bury(tx, message_id, *args)
        tx.execute("DELETE FROM messages WHERE id = ?", (message_id,))


bus.Leases = Mutant

if __name__ == "__main__":
    serve({"comms": bus.CommsBus})
