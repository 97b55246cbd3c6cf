"""Channels are not merged: one stands behind the other."""

from typing import Any

from refbus.comms import bus
from refbus.comms.route import Route
from refbus.driver import serve

KILLED_BY = ("comms.route.07",)


class Mutant(Route):
    def ready(self, agent_id: str, channels: list[str], limit: int) -> list[dict[str, Any]]:
        rows = [row for channel in channels for row in super(Mutant, self).ready(agent_id, [channel], limit)]
        return rows[:limit]


bus.Route = Mutant

if __name__ == "__main__":
    serve({"comms": bus.CommsBus})
