"""from_agent is the bus, not the sender."""

from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.log.14",)


class Mutant(WorkerBus):
    def _values(self, agent_id: str, draft: Any, now_ms: int) -> Any:
        return super()._values("bus", draft, now_ms)


if __name__ == "__main__":
    serve({"worker": Mutant})
