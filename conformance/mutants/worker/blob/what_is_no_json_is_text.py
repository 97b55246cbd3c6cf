"""A payload column that is no JSON is delivered as text."""

from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.blob.10",)


class Mutant(WorkerBus):
    def poll(self, **params: Any) -> dict[str, Any]:
        reply = super().poll(**params)
        for message in reply["messages"]:
            if message.pop("payload_error", None) == "decode_failed":
                message["payload"] = self.db.row("SELECT payload FROM messages WHERE seq = ?", (message["seq"],))[0]
        return reply


if __name__ == "__main__":
    serve({"worker": Mutant})
