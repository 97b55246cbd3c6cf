"""The audit trail does not tell claims."""

from typing import Any

from refbus.comms import bus
from refbus.comms.export import Audit
from refbus.driver import serve

KILLED_BY = ("comms.export.01",)
CONTROL = "export.keeps_others"


class Mutant(Audit):
    def record(self, tx: Any, event: str, *args: Any, **details: Any) -> None:
        if event != "claimed":
            super().record(tx, event, *args, **details)


bus.Audit = Mutant

if __name__ == "__main__":
    serve({"comms": bus.CommsBus})
