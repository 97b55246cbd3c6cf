"""load_blob of an unknown ref gives null."""

from typing import Any

from refbus.driver import serve
from refbus.kernel.errors import BlobMissing
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.blob.15",)


class Mutant(WorkerBus):
    def load_blob(self, ref: str) -> dict[str, Any]:
        try:
            return super().load_blob(ref)
        except BlobMissing:
            return {"content": None}


if __name__ == "__main__":
    serve({"worker": Mutant})
