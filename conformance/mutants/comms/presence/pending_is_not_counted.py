"""messages_pending stays zero."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.presence.08", "comms.presence.09", "comms.presence.10", "comms.presence.12")


class Mutant(CommsBus):
    def _count(self, connection: Any, agent_id: str, column: str, change: int) -> None:
        super()._count(connection, agent_id, column, 0 if column == "messages_pending" else change)


if __name__ == "__main__":
    serve({"comms": Mutant})
