"""A long list of large payloads is cut to its first half."""

from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.blob.03",)
CONTROL = "blob.content_addressed"


class Mutant(WorkerBus):
    def poll(self, **params: Any) -> dict[str, Any]:
        reply = super().poll(**params)
        for message in reply["messages"]:
            if message.get("payload_ref") and isinstance(message.get("payload"), list):
                message["payload"] = message["payload"][: len(message["payload"]) // 2]
        return reply


if __name__ == "__main__":
    serve({"worker": Mutant})
