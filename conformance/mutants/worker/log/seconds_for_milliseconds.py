"""ts_ms holds seconds."""

from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.log.13",)


class Mutant(WorkerBus):
    def _values(self, agent_id: str, draft: Any, now_ms: int) -> Any:
        return super()._values(agent_id, draft, now_ms // 1000)


if __name__ == "__main__":
    serve({"worker": Mutant})
