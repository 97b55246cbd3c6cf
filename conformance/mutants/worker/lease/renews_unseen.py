"""A renewal looks whose lease it is, then writes it back whole: a lease that was taken meanwhile is taken back."""

from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.lease.26", "worker.log.66")
CHAOS = {"holds": True, "only": "renew_claim"}


class RenewsUnseen(WorkerBus):
    """Look, then write."""

    def renew_claim(self, task_id: str, agent_id: str, token: int | None = None) -> dict[str, Any]:
        held = self.db.row("SELECT claimed_by FROM task_claims WHERE task_id = ?", (task_id,))
        if held is None or held[0] != agent_id:
            return {"renewed": False}
        until_ms = self.store.clock.now_ms() + self.store.lease_ms
        claim = (agent_id, until_ms, task_id)
        self.db.write("UPDATE task_claims SET claimed_by = ?, lease_until_ms = ? WHERE task_id = ?", claim)
        return {"renewed": True, "lease_until_ms": until_ms}


if __name__ == "__main__":
    serve({"worker": RenewsUnseen})
