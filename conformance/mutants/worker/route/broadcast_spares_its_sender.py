"""A broadcast is not delivered to its sender."""

from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.route.04",)


class Mutant(WorkerBus):
    def poll(self, agent_id: str, **params: Any) -> dict[str, Any]:
        rows = super().poll(agent_id, **params)["messages"]
        return {"messages": [row for row in rows if row["to_agent"] or row["from_agent"] != agent_id]}


if __name__ == "__main__":
    serve({"worker": Mutant})
