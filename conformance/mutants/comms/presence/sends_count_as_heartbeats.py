"""A message makes its recipient look alive."""

from typing import Any

from refbus.comms import bus
from refbus.comms.log import Log
from refbus.driver import serve

KILLED_BY = ("comms.presence.06",)


class Mutant(Log):
    def insert(self, tx: Any, envelope: Any, expires_at: Any) -> None:
        super().insert(tx, envelope, expires_at)
        tx.execute("UPDATE agent_status SET last_heartbeat = ?", (envelope.timestamp,))


bus.Log = Mutant

if __name__ == "__main__":
    serve({"comms": bus.CommsBus})
