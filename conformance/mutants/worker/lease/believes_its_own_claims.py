"""A process believes to have its grant until it gives it back, whatever the file says by then."""

from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.lease.26", "worker.log.66")
CHAOS = {"holds": True, "only": "try_claim_task"}


class Mutant(WorkerBus):
    def try_claim_task(self, task_id: str, agent_id: str) -> dict[str, Any]:
        reply = super().try_claim_task(task_id=task_id, agent_id=agent_id)
        if reply["claimed"]:
            self.store.__dict__.setdefault("granted", set()).add((task_id, agent_id))
        return reply

    def release_claim(self, task_id: str, agent_id: str, token: int | None = None) -> dict[str, Any]:
        if (task_id, agent_id) in self.store.__dict__.get("granted", ()):
            self.db.write("DELETE FROM task_claims WHERE task_id = ?", (task_id,))
            return {"released": True}
        return super().release_claim(task_id=task_id, agent_id=agent_id, token=token)


if __name__ == "__main__":
    serve({"worker": Mutant})
