"""load_blob gives the text of the content."""

from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.blob.06",)


class Mutant(WorkerBus):
    def load_blob(self, ref: str) -> dict[str, Any]:
        return {"content": str(super().load_blob(ref)["content"])}


if __name__ == "__main__":
    serve({"worker": Mutant})
