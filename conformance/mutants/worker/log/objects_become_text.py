"""An object payload is delivered as its text."""

from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.log.18", "worker.log.73")


class Mutant(WorkerBus):
    def poll(self, **params: Any) -> dict[str, Any]:
        reply = super().poll(**params)
        for message in reply["messages"]:
            if isinstance(message.get("payload"), dict):
                message["payload"] = str(message["payload"])
        return reply


if __name__ == "__main__":
    serve({"worker": Mutant})
