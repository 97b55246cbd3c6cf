"""Blob references are resolved in the export."""

import json
from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.export.04",)


class Mutant(WorkerBus):
    def export_to_jsonl(self) -> dict[str, Any]:
        reply = super().export_to_jsonl()
        path = self.folder / "bus.jsonl"
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        for row in rows:
            if row["payload_ref"]:
                row["payload"], row["payload_ref"] = self.blobs.load_text(row["payload_ref"]), None
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return reply


if __name__ == "__main__":
    serve({"worker": Mutant})
