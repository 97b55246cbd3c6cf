"""A blob's size decides whether it is whole: other bytes of the same number stay when it is saved again."""

from pathlib import Path

from refbus.driver import serve
from refbus.worker import blob
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.blob.06",)
ITEM = "corpus"
CONTROL = "log.fields"


_save = blob.blob.save


def save(folder: Path, data: bytes) -> str:
    ref = blob.blob.ref_of(data)
    path = folder / ref
    return ref if path.exists() and path.stat().st_size == len(data) else _save(folder, data)


blob.blob.save = save


class Mutant(WorkerBus):
    """The reference, on the changed rule."""


if __name__ == "__main__":
    serve({"worker": Mutant})
