"""Every heartbeat is one more row of liveness."""

from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.presence.01",)
CONTROL = "presence.statuses"


class Mutant(WorkerBus):
    def liveness(self) -> dict[str, Any]:
        agents = super().liveness()["agents"]
        return {"agents": [*agents, *agents]}


if __name__ == "__main__":
    serve({"worker": Mutant})
