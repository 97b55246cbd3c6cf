"""A message is committed before its blob is written. A reader in between finds a name and no file."""

from typing import Any

from refbus.driver import serve
from refbus.kernel.blob import ref_of
from refbus.worker import bus
from refbus.worker.blob import Blobs

KILLED_BY = ("worker.blob.16", "worker.log.03")
CHAOS = {"points": True, "only": "publish with blob"}


class RowBeforeBlob(Blobs):
    """Promises the name, and writes when the row is there."""

    def __init__(self, store: Any) -> None:
        super().__init__(store)
        self.late: list[str] = []

    def save_text(self, text: str) -> str:
        self.late.append(text)
        return ref_of(text.encode())

    def write_late(self) -> None:
        while self.late:
            super().save_text(self.late.pop())


class Bus(bus.WorkerBus):
    """The blob follows its row."""

    def publish(self, **how: Any) -> Any:
        reply = super().publish(**how)
        self.blobs.write_late()
        return reply

    def save_blob(self, **how: Any) -> Any:
        reply = super().save_blob(**how)
        self.blobs.write_late()
        return reply


bus.Blobs = RowBeforeBlob


if __name__ == "__main__":
    serve({"worker": Bus})
