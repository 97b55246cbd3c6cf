"""messages_pending only rises: a completed message counts for ever."""

from typing import Any

from refbus.comms import bus
from refbus.comms.presence import Presence
from refbus.driver import serve

KILLED_BY = ("comms.presence.15", "comms.presence.09")


class Mutant(Presence):
    def count(self, tx: Any, agent_id: str, column: str, change: int) -> None:
        super().count(tx, agent_id, column, max(0, change) if column == "messages_pending" else change)


bus.Presence = Mutant

if __name__ == "__main__":
    serve({"comms": bus.CommsBus})
