"""A missing blob fails the poll of everybody who can see its message."""

from typing import Any

from refbus.driver import serve
from refbus.kernel.errors import BlobMissing
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.blob.09",)


class Mutant(WorkerBus):
    def poll(self, **params: Any) -> dict[str, Any]:
        reply = super().poll(**params)
        for message in reply["messages"]:
            if message.get("payload_error") == "blob_missing":
                raise BlobMissing(message["payload_ref"])
        return reply


if __name__ == "__main__":
    serve({"worker": Mutant})
