"""An event is recorded when its process exports."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.export.07",)


class Mutant(CommsBus):
    def _record(self, connection: Any, *args: Any, **details: Any) -> None:
        self.__dict__.setdefault("kept", []).append((args, details))

    def export_audit_trail(self) -> dict[str, Any]:
        kept, self.__dict__["kept"] = self.__dict__.get("kept", []), []
        with self.db.transaction() as connection:
            for args, details in kept:
                super()._record(connection, *args, **details)
        return super().export_audit_trail()


if __name__ == "__main__":
    serve({"comms": Mutant})
