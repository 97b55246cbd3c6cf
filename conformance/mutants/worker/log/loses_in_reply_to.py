"""in_reply_to is not stored."""

from __future__ import annotations

from refbus.driver import serve
from refbus.worker import bus, log
from refbus.worker.message import Draft, Values

KILLED_BY = ("worker.log.17",)
CONTROL = "log.survives_kill"


class Faulty(Draft):
    def values(self, sender: str, now_ms: int) -> Values:
        self.in_reply_to = None
        return super().values(sender, now_ms)


log.Draft = Faulty


if __name__ == "__main__":
    serve({"worker": bus.WorkerBus})
