"""A renewal is answered and does not extend the lease."""

from typing import Any

from refbus.driver import serve
from refbus.kernel.rules import lease
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.lease.08",)


class Mutant(WorkerBus):
    def renew_claim(self, task_id: str, agent_id: str, token: int | None = None) -> dict[str, Any]:
        with self.store.snapshot() as tx:
            return {"renewed": lease.may_keep(self.claims.claim(tx, task_id), agent_id, token)}


if __name__ == "__main__":
    serve({"worker": Mutant})
