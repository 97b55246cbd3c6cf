"""Look, then take, in two transactions: two agents may both find the task free."""

from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.lease.26", "worker.log.66")
CHAOS = {"holds": True, "only": "try_claim_task"}


class ClaimsInTwoSteps(WorkerBus):
    """Nothing is between the two but a moment."""

    def try_claim_task(self, task_id: str, agent_id: str) -> dict[str, Any]:
        now_ms = self.store.clock.now_ms()
        held = self.db.row("SELECT lease_until_ms FROM task_claims WHERE task_id = ?", (task_id,))
        if held is not None and held[0] > now_ms:
            return {"claimed": False}
        until_ms = now_ms + self.store.lease_ms
        self.db.write("INSERT OR REPLACE INTO task_claims VALUES (?, ?, ?, ?)", (task_id, agent_id, now_ms, until_ms))
        return {"claimed": True, "lease_until_ms": until_ms}


if __name__ == "__main__":
    serve({"worker": ClaimsInTwoSteps})
