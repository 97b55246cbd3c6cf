"""A holder's second claim is a new grant (W9)."""

from typing import Any

from refbus.driver import serve
from refbus.kernel.rules import lease
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.lease.04",)


_claimants: list[str] = []
_may_take = lease.may_take
lease.may_take = lambda claim, now_ms: _may_take(claim, now_ms) or claim.claimed_by == _claimants[-1]


class Mutant(WorkerBus):
    def try_claim_task(self, task_id: str, agent_id: str) -> dict[str, Any]:
        _claimants.append(agent_id)
        return super().try_claim_task(task_id, agent_id)


if __name__ == "__main__":
    serve({"worker": Mutant})
