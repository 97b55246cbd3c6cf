"""A broadcast goes to the agent that polls first."""

from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.route.01",)


class Mutant(WorkerBus):
    def poll(self, agent_id: str, **params: Any) -> dict[str, Any]:
        reply = super().poll(agent_id, **params)
        for row in reply["messages"]:
            if row["to_agent"] is None:
                self.db.write("UPDATE messages SET to_agent = ? WHERE seq = ?", (agent_id, row["seq"]))
        return reply


if __name__ == "__main__":
    serve({"worker": Mutant})
