"""Publish is answered, then committed. A kill between the two loses an acknowledged message."""

from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.log.03", "worker.log.54")
CONTROL = "lease.first_wins"
CHAOS = {"points": True, "only": "publish", "kills": 16}


class AnswersBeforeCommit(WorkerBus):
    """Keeps each message until the next call."""

    _waiting: tuple[str, dict[str, Any]] | None = None

    def publish(self, agent_id: str, message: dict[str, Any]) -> dict[str, Any]:
        self._write_what_waits()
        self._waiting = (agent_id, message)
        return {"id": message["id"]}

    def poll(self, agent_id: str, limit: int = 100, wait_ms: int = 0) -> dict[str, Any]:
        self._write_what_waits()
        return super().poll(agent_id=agent_id, limit=limit, wait_ms=wait_ms)

    def _write_what_waits(self) -> None:
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            super().publish(*waiting)


if __name__ == "__main__":
    serve({"worker": AnswersBeforeCommit})
