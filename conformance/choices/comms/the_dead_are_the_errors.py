"""An error is a message that failed for good; each failure counts as processed, too (C12)."""

from typing import Any

from refbus.comms import bus
from refbus.comms.lease import Leases
from refbus.comms.presence import Presence
from refbus.driver import serve


class Counters(Presence):
    def count(self, tx: Any, agent_id: str, column: str, change: int) -> None:
        super().count(tx, agent_id, "messages_processed" if column == "error_count" else column, change)


class Burials(Leases):
    def bury(self, tx: Any, message_id: str, agent_id: str, *how: Any) -> None:
        super().bury(tx, message_id, agent_id, *how)
        Presence.count(self.presence, tx, agent_id, "error_count", 1)


bus.Presence, bus.Leases = Counters, Burials  # type: ignore[misc]

if __name__ == "__main__":
    serve({"comms": bus.CommsBus})
