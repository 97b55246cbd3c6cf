"""Every line of the trail tells the same event."""

from typing import Any

from refbus.comms import bus
from refbus.comms.export import Audit
from refbus.driver import serve

KILLED_BY = ("comms.export.01",)
ITEM = "corpus"
CONTROL = "log.envelope"


class Mutant(Audit):
    def record(self, tx: Any, event: str, agent_id: Any, message_id: Any, **details: Any) -> None:
        super().record(tx, "sent", agent_id, message_id, **details)


bus.Audit = Mutant


if __name__ == "__main__":
    serve({"comms": bus.CommsBus})
