"""A message that was just sent has one delivery."""

from typing import Any

from refbus.comms import bus
from refbus.comms.log import Log
from refbus.driver import serve

KILLED_BY = ("comms.log.23",)


class Mutant(Log):
    def insert(self, tx: Any, envelope: Any, expires_at: Any) -> None:
        super().insert(tx, envelope, expires_at)
        tx.execute("UPDATE messages SET delivery_count = 1 WHERE id = ?", (envelope.id,))


bus.Log = Mutant

if __name__ == "__main__":
    serve({"comms": bus.CommsBus})
