"""The temporary file of a blob stays in the folder."""

from __future__ import annotations

from refbus.driver import serve
from refbus.worker import blob, bus

KILLED_BY = ("worker.blob.08",)


class Faulty(blob.Blobs):
    def save_text(self, text: str) -> str:
        (self._folder / "tmp123456").write_text(text[:100])
        return super().save_text(text)


bus.Blobs = Faulty


if __name__ == "__main__":
    serve({"worker": bus.WorkerBus})
