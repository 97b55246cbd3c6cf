"""A renewal adds sixty seconds to the old end of the lease."""

from typing import Any

from refbus.driver import serve
from refbus.kernel.rules import lease
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.lease.09",)


class Mutant(WorkerBus):
    def renew_claim(self, task_id: str, agent_id: str, token: int | None = None) -> dict[str, Any]:
        with self.store.snapshot() as tx:
            if not lease.may_keep(self.claims.claim(tx, task_id), agent_id, token):
                return {"renewed": False}
        sql = "UPDATE task_claims SET lease_until_ms = lease_until_ms + ? WHERE task_id = ?"
        self.db.write(sql, (self.store.lease_ms, task_id))
        return {"renewed": True}


if __name__ == "__main__":
    serve({"worker": Mutant})
