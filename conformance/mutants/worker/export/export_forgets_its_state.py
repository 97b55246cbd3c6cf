"""export_state is not written."""

from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.export.06",)


class Mutant(WorkerBus):
    def export_to_jsonl(self) -> dict[str, Any]:
        reply = super().export_to_jsonl()
        self.db.write("UPDATE export_state SET last_seq = 0")
        return reply


if __name__ == "__main__":
    serve({"worker": Mutant})
