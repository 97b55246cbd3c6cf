"""A token of 0 is taken for no token."""

from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.lease.18",)
ITEM = "corpus"


class Mutant(WorkerBus):
    def renew_claim(self, task_id: str, agent_id: str, token: int | None = None) -> Any:
        return super().renew_claim(task_id, agent_id, token or None)


if __name__ == "__main__":
    serve({"worker": Mutant})
