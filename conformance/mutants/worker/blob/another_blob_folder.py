"""Blobs live outside blobs/."""

from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.blob.07",)


class Mutant(WorkerBus):
    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.blobs = self.folder / "large"
        self.blobs.mkdir(exist_ok=True)


if __name__ == "__main__":
    serve({"worker": Mutant})
