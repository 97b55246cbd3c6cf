"""Each export empties the file and writes it from the start. A kill between leaves readers nothing."""

import json
from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.export.12",)
CHAOS = {"points": True, "only": "export_to_jsonl"}
CONTROL = "log.fields"


class WritesAllAgain(WorkerBus):
    """Truncates first."""

    def export_to_jsonl(self) -> dict[str, Any]:
        rows = self.db.rows(
            "SELECT seq, id, payload FROM messages UNION SELECT seq, id, payload FROM archived_messages ORDER BY seq"
        )
        with open(self.folder / "bus.jsonl", "w", encoding="utf-8") as file:
            for row in rows:
                file.write(json.dumps(dict(zip(("seq", "id", "payload"), row, strict=True))) + "\n")
        last_seq = rows[-1][0] if rows else 0
        self.db.write("INSERT OR REPLACE INTO export_state (id, last_seq) VALUES (1, ?)", (last_seq,))
        return {"last_seq": last_seq}


if __name__ == "__main__":
    serve({"worker": WritesAllAgain})
