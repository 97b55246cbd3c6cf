"""A blob is kept in memory until somebody reads it."""

from __future__ import annotations

from typing import Any

from refbus.driver import serve
from refbus.kernel.blob import ref_of
from refbus.worker import blob, bus

KILLED_BY = ("worker.log.04",)


class Faulty(blob.Blobs):
    def __init__(self, store: Any) -> None:
        super().__init__(store)
        self.waiting: dict[str, str] = {}

    def save_text(self, text: str) -> str:
        ref = ref_of(text.encode())
        self.waiting[ref] = text
        return ref

    def load_text(self, ref: str) -> str:
        return self.waiting[ref] if ref in self.waiting else super().load_text(ref)


bus.Blobs = Faulty


if __name__ == "__main__":
    serve({"worker": bus.WorkerBus})
