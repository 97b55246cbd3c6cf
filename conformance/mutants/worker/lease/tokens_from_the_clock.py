"""A fencing token is the time. An agent whose clock is behind gets one that is lower than the last."""

from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.lease.26", "worker.log.66")
CHAOS = {"holds": True, "only": "release_claim"}


class TokensFromTheClock(WorkerBus):
    """Milliseconds, so they rise."""

    def try_claim_task(self, task_id: str, agent_id: str) -> dict[str, Any]:
        reply = super().try_claim_task(task_id=task_id, agent_id=agent_id)
        if reply["claimed"]:
            reply["token"] = self.store.clock.now_ms()
            self.db.write("UPDATE task_tokens SET token = ? WHERE task_id = ?", (reply["token"], task_id))
        return reply


if __name__ == "__main__":
    serve({"worker": TokensFromTheClock})
