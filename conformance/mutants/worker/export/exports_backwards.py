"""Each export writes its newest message first."""

from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.export.03",)
CONTROL = "export.blob_references"


class Mutant(WorkerBus):
    def export_to_jsonl(self) -> dict[str, Any]:
        reply = super().export_to_jsonl()
        path = self.folder / "bus.jsonl"
        path.write_text("".join(path.read_text().splitlines(keepends=True)[::-1]))
        return reply


if __name__ == "__main__":
    serve({"worker": Mutant})
