"""The failure that makes a message a dead letter is not counted in error_count."""

from typing import Any

from refbus.comms import bus
from refbus.comms.presence import Presence
from refbus.driver import serve

KILLED_BY = ("comms.presence.13",)


class Mutant(Presence):
    def count(self, tx: Any, agent_id: str, column: str, change: int) -> None:
        row = tx.row("SELECT error_count FROM agent_status WHERE agent_id = ?", (agent_id,))
        is_third = column == "error_count" and row is not None and row[0] % 3 == 2
        super().count(tx, agent_id, column, 0 if is_third else change)


bus.Presence = Mutant

if __name__ == "__main__":
    serve({"comms": bus.CommsBus})
