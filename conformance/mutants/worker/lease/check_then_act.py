"""A claim is looked at in one transaction and taken in another."""

from typing import Any

from refbus.driver import serve
from refbus.kernel.rules import lease
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.lease.21",)


class Mutant(WorkerBus):
    def try_claim_task(self, task_id: str, agent_id: str) -> dict[str, Any]:
        with self.store.snapshot() as tx:
            if not lease.may_take(self.claims.claim(tx, task_id), tx.now_ms):
                return {"claimed": False}
        values = (task_id, agent_id, tx.now_ms, tx.now_ms + self.store.lease_ms)
        self.db.write("INSERT OR REPLACE INTO task_claims VALUES (?, ?, ?, ?)", values)
        return {"claimed": True}


if __name__ == "__main__":
    serve({"worker": Mutant})
