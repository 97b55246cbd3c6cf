"""A ref from a row is opened as a path (W6)."""

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.blob.13", "worker.blob.14")


class Mutant(WorkerBus):
    def _load_text(self, ref: str) -> str:
        path = self.blobs / ref
        return path.read_text() if path.is_file() else super()._load_text("sha256-" + "0" * 64)


if __name__ == "__main__":
    serve({"worker": Mutant})
