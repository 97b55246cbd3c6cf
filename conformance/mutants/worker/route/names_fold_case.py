"""Worker and worker are one agent."""

from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.route.06",)


class Mutant(WorkerBus):
    def poll(self, agent_id: str, **params: Any) -> dict[str, Any]:
        rows = {}
        for name in {agent_id, agent_id.lower(), agent_id.title()}:
            rows |= {row["seq"]: row for row in super().poll(name, **params)["messages"]}
        return {"messages": [rows[seq] for seq in sorted(rows)]}


if __name__ == "__main__":
    serve({"worker": Mutant})
