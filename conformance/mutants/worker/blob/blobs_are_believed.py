"""A blob's hash is not verified (W6)."""

from __future__ import annotations

from refbus.driver import serve
from refbus.worker import blob, bus

KILLED_BY = ("worker.blob.11", "worker.blob.12")


class Faulty(blob.Blobs):
    def load_text(self, ref: str) -> str:
        path = self._folder / ref
        return path.read_text() if path.is_file() else super().load_text(ref)


bus.Blobs = Faulty


if __name__ == "__main__":
    serve({"worker": bus.WorkerBus})
