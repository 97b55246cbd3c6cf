"""The blobs of a batch are saved when its rows are there already: a kill in between leaves messages without them."""

from typing import Any

from refbus.driver import serve
from refbus.kernel.blob import ref_of
from refbus.worker import bus
from refbus.worker.blob import Blobs

KILLED_BY = ("worker.blob.16",)
CHAOS = {"points": True, "only": "publish_many with blobs"}


class Late(Blobs):
    """Keeps the blobs that a batch would save."""

    late: list[str] | None = None

    def save_text(self, text: str) -> str:
        if self.late is None:
            return super().save_text(text)
        self.late.append(text)
        return ref_of(text.encode())


bus.Blobs = Late


class Mutant(bus.WorkerBus):
    def publish_many(self, agent_id: str, messages: list[dict[str, Any]]) -> Any:
        blobs: Any = self.blobs
        blobs.late = []
        try:
            reply = super().publish_many(agent_id, messages)
        finally:
            late, blobs.late = blobs.late, None
        for text in late:
            blobs.save_text(text)
        return reply


if __name__ == "__main__":
    serve({"worker": Mutant})
