"""The oldest few are taken, then ordered."""

from typing import Any

from refbus.comms import bus
from refbus.comms.route import Route
from refbus.driver import serve

KILLED_BY = ("comms.route.09",)


class Mutant(Route):
    def ready(self, agent_id: str, channels: list[str], limit: int) -> list[dict[str, Any]]:
        oldest = sorted(super().ready(agent_id, channels, 10**6), key=lambda row: row["timestamp"])[:limit]
        return sorted(oldest, key=lambda row: (-row["priority"], row["timestamp"]))


bus.Route = Mutant

if __name__ == "__main__":
    serve({"comms": bus.CommsBus})
