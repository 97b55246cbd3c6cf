"""Any fault of the store reads as: someone else has it (W8)."""

import sqlite3
from typing import Any

from refbus.driver import serve
from refbus.kernel.errors import BusError
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.lease.16",)


class Mutant(WorkerBus):
    def try_claim_task(self, task_id: str, agent_id: str) -> dict[str, Any]:
        try:
            return super().try_claim_task(task_id, agent_id)
        except (BusError, sqlite3.Error):
            return {"claimed": False}


if __name__ == "__main__":
    serve({"worker": Mutant})
