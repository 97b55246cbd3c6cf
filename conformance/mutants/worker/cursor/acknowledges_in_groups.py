"""Acks are answered at once and committed together, before the next call."""

from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.log.03",)
CHAOS = {"points": True, "only": "ack"}


class AcknowledgesInGroups(WorkerBus):
    """Keeps them in a list."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._acked: list[tuple[str, int]] = []

    def ack(self, agent_id: str, seq: int) -> dict[str, Any]:
        self._acked.append((agent_id, seq))
        return {"last_acked_seq": seq}

    def poll(self, *args: Any, **how: Any) -> Any:
        while self._acked:
            super().ack(*self._acked.pop())
        return super().poll(*args, **how)


if __name__ == "__main__":
    serve({"worker": AcknowledgesInGroups})
