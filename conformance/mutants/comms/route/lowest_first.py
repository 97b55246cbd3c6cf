"""Priority 1 comes first."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.route.08", "comms.route.39")


class Mutant(CommsBus):
    def _ready(self, agent_id: str, channels: list[str], limit: int) -> list[dict[str, Any]]:
        rows = super()._ready(agent_id, channels, 10**6)
        return sorted(rows, key=lambda row: (row["priority"], row["timestamp"]))[:limit]


if __name__ == "__main__":
    serve({"comms": Mutant})
