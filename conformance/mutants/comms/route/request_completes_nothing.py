"""The answer that a request took is received again."""

from typing import Any

from refbus.comms import bus
from refbus.comms.request import Requests
from refbus.comms.route import Route
from refbus.driver import serve

KILLED_BY = ("comms.route.34",)


class Mutant(Requests):
    def take_answer(self, agent_id: str, correlation_id: str, sent: str) -> dict[str, Any] | None:
        rows = [
            m for m in Route(self.store).ready(agent_id, ["general"], 1000) if m["correlation_id"] == correlation_id
        ]
        return next((m for m in rows if m["id"] != sent), None)


bus.Requests = Mutant

if __name__ == "__main__":
    serve({"comms": bus.CommsBus})
