"""from_agent is the bus, not the sender."""

from __future__ import annotations

from refbus.driver import serve
from refbus.worker import bus, log
from refbus.worker.message import Draft, Values

KILLED_BY = ("worker.log.14",)
CONTROL = "log.survives_kill"


class Faulty(Draft):
    def values(self, sender: str, now_ms: int) -> Values:
        return super().values("bus", now_ms)


log.Draft = Faulty


if __name__ == "__main__":
    serve({"worker": bus.WorkerBus})
