"""Every claim is answered with false."""

from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.lease.01",)
CONTROL = "lease.renew_after_retake"


class Mutant(WorkerBus):
    def try_claim_task(self, task_id: str, agent_id: str) -> dict[str, Any]:
        return {"claimed": False}


if __name__ == "__main__":
    serve({"worker": Mutant})
