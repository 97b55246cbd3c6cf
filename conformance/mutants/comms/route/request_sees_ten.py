"""A request looks for its answer among the first ten messages."""

from typing import Any

from refbus.comms import bus
from refbus.comms.request import Requests
from refbus.comms.route import Route
from refbus.driver import serve

KILLED_BY = ("comms.route.32",)


class Mutant(Requests):
    def take_answer(self, agent_id: str, correlation_id: str, sent: str) -> dict[str, Any] | None:
        first = [message["id"] for message in Route(self.store).ready(agent_id, ["general"], 10)]
        row = self.store.db.row(
            "SELECT id FROM messages WHERE correlation_id = ? AND to_agent = ?", (correlation_id, agent_id)
        )
        return super().take_answer(agent_id, correlation_id, sent) if row and row[0] in first else None


bus.Requests = Mutant

if __name__ == "__main__":
    serve({"comms": bus.CommsBus})
