"""The loop acknowledges a message before its handler has run."""

from __future__ import annotations

from typing import Any

from refbus.driver import serve
from refbus.worker import bus, retry

KILLED_BY = ("worker.retry.02",)


class Faulty(retry.Redelivery):
    def process(self, agent_id: str, handler: Any, **params: Any) -> Any:
        def acked_first(message: Any) -> None:
            self._cursors.ack(agent_id, message["seq"])
            handler(message)

        return super().process(agent_id, acked_first, **params)


bus.Redelivery = Faulty


if __name__ == "__main__":
    serve({"worker": bus.WorkerBus})
