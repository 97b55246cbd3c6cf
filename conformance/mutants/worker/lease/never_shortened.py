"""After a clock was set back, a renewal leaves the later end."""

from typing import Any

from refbus.driver import serve
from refbus.worker import lease
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.lease.24",)
ITEM = "corpus"


_renew = lease.Claims.renew_claim


def renew(self: lease.Claims, task_id: str, agent_id: str, token: int | None = None) -> Any:
    with self._store.snapshot() as tx:
        before = self.claim(tx, task_id)
    reply = _renew(self, task_id, agent_id, token)
    if reply["renewed"] and before.lease_until_ms > reply["lease_until_ms"]:
        self._store.db.write("UPDATE task_claims SET lease_until_ms = ?", (before.lease_until_ms,))
    return reply


lease.Claims.renew_claim = renew


class Mutant(WorkerBus):
    """The reference, on the changed rule."""


if __name__ == "__main__":
    serve({"worker": Mutant})
