"""A holder's second claim is granted: the same token, the lease begun anew (W9)."""

from typing import Any

from refbus.driver import serve
from refbus.worker import lease
from refbus.worker.bus import WorkerBus


class Choice(WorkerBus):
    def try_claim_task(self, task_id: str, agent_id: str) -> dict[str, Any]:
        lease._check_names(task_id, agent_id)
        with self.store.transaction() as tx:
            claim = self.claims.claim(tx, task_id)
            if claim is not None and claim.claimed_by == agent_id and tx.now_ms < claim.lease_until_ms:
                until_ms = tx.now_ms + self.store.lease_ms
                tx.execute("UPDATE task_claims SET lease_until_ms = ? WHERE task_id = ?", (until_ms, task_id))
                return {"claimed": True, "token": claim.token, "lease_until_ms": until_ms}
        return super().try_claim_task(task_id, agent_id)


if __name__ == "__main__":
    serve({"worker": Choice})
