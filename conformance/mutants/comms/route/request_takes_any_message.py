"""A request takes the first message for its answer."""

from typing import Any

from refbus.comms import bus
from refbus.comms.request import Requests
from refbus.comms.route import Route
from refbus.driver import serve

KILLED_BY = ("comms.route.33",)


class Mutant(Requests):
    def take_answer(self, agent_id: str, correlation_id: str, sent: str) -> dict[str, Any] | None:
        messages = Route(self.store).ready(agent_id, ["general"], 1)
        return messages[0] if messages else None


bus.Requests = Mutant

if __name__ == "__main__":
    serve({"comms": bus.CommsBus})
