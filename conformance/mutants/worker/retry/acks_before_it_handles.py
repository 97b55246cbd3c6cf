"""The loop acknowledges a message before its handler has run."""

from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.retry.02",)


class Mutant(WorkerBus):
    def process(self, agent_id: str, handler: Any, **params: Any) -> Any:
        def acked_first(message: dict[str, Any]) -> None:
            self.ack(agent_id, message["seq"])
            handler(message)

        return super().process(agent_id, acked_first, **params)


if __name__ == "__main__":
    serve({"worker": Mutant})
