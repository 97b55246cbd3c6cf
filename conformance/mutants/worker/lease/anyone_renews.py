"""Any agent may renew a claim."""

from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.lease.10", "worker.lease.12")


class Mutant(WorkerBus):
    def renew_claim(self, task_id: str, agent_id: str, token: int | None = None) -> dict[str, Any]:
        until_ms = self.store.clock.now_ms() + self.store.lease_ms
        sql = "UPDATE task_claims SET lease_until_ms = ? WHERE task_id = ?"
        return {"renewed": self.db.write(sql, (until_ms, task_id)).rowcount > 0}


if __name__ == "__main__":
    serve({"worker": Mutant})
