"""An event is recorded when its process exports."""

from typing import Any

from refbus.comms import bus
from refbus.comms.export import Audit
from refbus.driver import serve

KILLED_BY = ("comms.export.07",)
CONTROL = "export.keeps_others"


class Mutant(Audit):
    kept: list[tuple[Any, Any]] = []  # noqa: RUF012

    def record(self, tx: Any, *args: Any, **details: Any) -> None:
        self.kept.append((args, details))

    def export_audit_trail(self) -> Any:
        with self.store.transaction() as tx:
            while self.kept:
                args, details = self.kept.pop(0)
                super().record(tx, *args, **details)
        return super().export_audit_trail()


bus.Audit = Mutant


if __name__ == "__main__":
    serve({"comms": bus.CommsBus})
