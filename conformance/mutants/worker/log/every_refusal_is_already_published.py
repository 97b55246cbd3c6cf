"""Any message that breaks a constraint is reported as already published (W1)."""

from typing import Any

from refbus.driver import serve
from refbus.kernel.errors import InvalidArgument
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.log.12", "worker.log.15")


class Mutant(WorkerBus):
    def publish(self, agent_id: str, message: dict[str, Any]) -> dict[str, Any]:
        try:
            return super().publish(agent_id, message)
        except InvalidArgument:
            return {"id": message.get("id", "published")}


if __name__ == "__main__":
    serve({"worker": Mutant})
