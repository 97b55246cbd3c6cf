"""Priority 1 comes first."""

from typing import Any

from refbus.comms import bus
from refbus.comms.route import Route
from refbus.driver import serve

KILLED_BY = ("comms.route.08", "comms.route.39")


class Mutant(Route):
    def ready(self, agent_id: str, channels: list[str], limit: int) -> list[dict[str, Any]]:
        rows = super().ready(agent_id, channels, 10**6)
        return sorted(rows, key=lambda row: (row["priority"], row["timestamp"]))[:limit]


bus.Route = Mutant

if __name__ == "__main__":
    serve({"comms": bus.CommsBus})
