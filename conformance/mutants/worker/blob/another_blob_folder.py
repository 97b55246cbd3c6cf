"""Blobs live outside blobs/."""

from __future__ import annotations

from typing import Any

from refbus.driver import serve
from refbus.worker import blob, bus

KILLED_BY = ("worker.blob.07",)


class Faulty(blob.Blobs):
    def __init__(self, store: Any) -> None:
        super().__init__(store)
        self._folder = store.folder / "large"
        self._folder.mkdir(exist_ok=True)


bus.Blobs = Faulty


if __name__ == "__main__":
    serve({"worker": bus.WorkerBus})
