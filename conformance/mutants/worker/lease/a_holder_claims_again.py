"""A holder's second claim is granted (W9)."""

from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.lease.04",)


class Mutant(WorkerBus):
    def try_claim_task(self, task_id: str, agent_id: str) -> dict[str, Any]:
        if self.renew_claim(task_id, agent_id)["renewed"]:
            return {"claimed": True}
        return super().try_claim_task(task_id, agent_id)


if __name__ == "__main__":
    serve({"worker": Mutant})
