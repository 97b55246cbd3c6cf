"""A blob's hash is not verified (W6)."""

from refbus.driver import serve
from refbus.kernel import blob
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.blob.11", "worker.blob.12")


class Mutant(WorkerBus):
    def _load_text(self, ref: str) -> str:
        blob.load(self.blobs, ref) if not (self.blobs / ref).is_file() else None
        return (self.blobs / ref).read_text()


if __name__ == "__main__":
    serve({"worker": Mutant})
