"""A release is answered and frees nothing."""

from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.lease.13",)


class Mutant(WorkerBus):
    def release_claim(self, task_id: str, agent_id: str, token: int | None = None) -> dict[str, Any]:
        return {"released": True}


if __name__ == "__main__":
    serve({"worker": Mutant})
