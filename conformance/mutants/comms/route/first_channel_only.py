"""Only one of several channels is looked at."""

from typing import Any

from refbus.comms import bus
from refbus.comms.route import Route
from refbus.driver import serve

KILLED_BY = ("comms.route.02",)


class Mutant(Route):
    def ready(self, agent_id: str, channels: list[str], limit: int) -> list[dict[str, Any]]:
        return super().ready(agent_id, channels[:1], limit)


bus.Route = Mutant

if __name__ == "__main__":
    serve({"comms": bus.CommsBus})
