"""A claim takes the time before it waits for the file: its lease is shorter by as long as it waited."""

from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.lease.27",)


class BeginsBeforeItIsGranted(WorkerBus):
    def try_claim_task(self, task_id: str, agent_id: str) -> dict[str, Any]:
        asked_ms = self.store.clock.now_ms()
        reply = super().try_claim_task(task_id=task_id, agent_id=agent_id)
        if reply["claimed"]:
            reply["lease_until_ms"] = asked_ms + self.store.lease_ms
            self.db.write(
                "UPDATE task_claims SET lease_until_ms = ? WHERE task_id = ?", (reply["lease_until_ms"], task_id)
            )
        return reply


if __name__ == "__main__":
    serve({"worker": BeginsBeforeItIsGranted})
