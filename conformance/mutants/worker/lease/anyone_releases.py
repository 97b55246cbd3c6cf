"""Any agent may release a claim."""

from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.lease.14", "worker.lease.12")


class Mutant(WorkerBus):
    def release_claim(self, task_id: str, agent_id: str, token: int | None = None) -> dict[str, Any]:
        self.db.write("DELETE FROM task_claims WHERE task_id = ?", (task_id,))
        return {"released": True}


if __name__ == "__main__":
    serve({"worker": Mutant})
