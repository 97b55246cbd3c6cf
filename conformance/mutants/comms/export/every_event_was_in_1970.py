"""The lines of the trail have no time of their own."""

from typing import Any

from refbus.comms import bus
from refbus.comms.export import Audit
from refbus.driver import serve

KILLED_BY = ("comms.export.01",)
ITEM = "corpus"
CONTROL = "log.envelope"


class Mutant(Audit):
    def record(self, tx: Any, event: str, agent_id: Any, message_id: Any, **details: Any) -> None:
        super().record(tx, event, agent_id, message_id, **details)
        tx.execute("UPDATE audit_log SET at = '1970-01-01T00:00:00.000000Z'")


bus.Audit = Mutant


if __name__ == "__main__":
    serve({"comms": bus.CommsBus})
