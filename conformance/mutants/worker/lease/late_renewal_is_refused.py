"""A renewal after the lease's end is refused though nobody took the task (W9)."""

from typing import Any

from refbus.driver import serve
from refbus.worker import lease
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.lease.11",)


class Mutant(WorkerBus):
    def renew_claim(self, task_id: str, agent_id: str, token: int | None = None) -> dict[str, Any]:
        lease._check_names(task_id, agent_id, token)
        with self.store.snapshot() as tx:
            claim = self.claims.claim(tx, task_id)
        if claim is None or claim.lease_until_ms <= tx.now_ms:
            return {"renewed": False}
        return super().renew_claim(task_id, agent_id, token)


if __name__ == "__main__":
    serve({"worker": Mutant})
