"""A publish is acknowledged while it waits in memory; the next call writes it."""

from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.log.01", "worker.log.02")
CONTROL = "log.idempotent_publish"


class Mutant(WorkerBus):
    waiting: Any = None

    def publish(self, agent_id: str, message: dict[str, Any]) -> dict[str, Any]:
        self.flush()
        self.waiting = (agent_id, message)
        return {"id": message.get("id", "unknown")}

    def flush(self) -> None:
        if self.waiting:
            agent_id, message = self.waiting
            self.waiting = None
            super().publish(agent_id, message)

    def poll(self, **params: Any) -> dict[str, Any]:
        self.flush()
        return super().poll(**params)


if __name__ == "__main__":
    serve({"worker": Mutant})
