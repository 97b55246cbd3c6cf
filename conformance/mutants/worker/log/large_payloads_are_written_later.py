"""A blob is kept in memory until somebody reads it."""

from typing import Any

from refbus.driver import serve
from refbus.kernel import blob
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.log.04",)


class Mutant(WorkerBus):
    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.waiting: dict[str, str] = {}

    def _save_text(self, text: str) -> str:
        ref = blob.ref_of(text.encode())
        self.waiting[ref] = text
        return ref

    def _load_text(self, ref: str) -> str:
        return self.waiting[ref] if ref in self.waiting else super()._load_text(ref)


if __name__ == "__main__":
    serve({"worker": Mutant})
