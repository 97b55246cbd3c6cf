"""correlation_id is not stored."""

from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.log.16", "worker.log.25")


class Mutant(WorkerBus):
    def _values(self, agent_id: str, draft: Any, now_ms: int) -> Any:
        draft.correlation_id = None
        return super()._values(agent_id, draft, now_ms)


if __name__ == "__main__":
    serve({"worker": Mutant})
