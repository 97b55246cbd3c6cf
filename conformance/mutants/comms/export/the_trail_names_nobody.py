"""The audit trail does not tell who did it."""

from typing import Any

from refbus.comms import bus
from refbus.comms.export import Audit
from refbus.driver import serve

KILLED_BY = ("comms.export.02",)
CONTROL = "export.keeps_others"


class Mutant(Audit):
    def record(self, tx: Any, event: str, agent_id: Any, message_id: Any, **details: Any) -> None:
        details.pop("to_agent", None)
        super().record(tx, event, None, message_id, **details)


bus.Audit = Mutant

if __name__ == "__main__":
    serve({"comms": bus.CommsBus})
