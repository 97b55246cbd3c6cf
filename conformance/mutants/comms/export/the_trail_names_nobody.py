"""The audit trail does not tell who."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.export.02",)


class Mutant(CommsBus):
    def _record(self, connection: Any, event: str, agent_id: Any, message_id: Any, **details: Any) -> None:
        details.pop("to_agent", None)
        super()._record(connection, event, None, message_id, **details)


if __name__ == "__main__":
    serve({"comms": Mutant})
