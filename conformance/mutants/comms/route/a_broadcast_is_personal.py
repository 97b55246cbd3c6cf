"""A broadcast names its reader as its addressee."""

from typing import Any

from refbus.comms import bus
from refbus.comms.route import Route
from refbus.driver import serve

KILLED_BY = ("comms.log.09",)
ITEM = "corpus"


class Mutant(Route):
    def ready(self, agent_id: str, channels: list[str], limit: int) -> Any:
        return [{**message, "to_agent": agent_id} for message in super().ready(agent_id, channels, limit)]


bus.Route = Mutant


if __name__ == "__main__":
    serve({"comms": bus.CommsBus})
