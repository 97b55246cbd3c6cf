"""The audit trail does not tell claims."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.export.01",)


class Mutant(CommsBus):
    def _record(self, connection: Any, event: str, *args: Any, **details: Any) -> None:
        if event != "claimed":
            super()._record(connection, event, *args, **details)


if __name__ == "__main__":
    serve({"comms": Mutant})
