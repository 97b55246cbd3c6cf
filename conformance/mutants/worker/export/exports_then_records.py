"""The seed's own export (W7). The file grows, then the database hears of it: a kill doubles lines."""

import json
import time
from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.export.12",)
CONTROL = "export.idempotent"
CHAOS = {"points": True, "only": "export_to_jsonl"}


class ExportsInTwoSteps(WorkerBus):
    """Appends the messages that `export_state` lacks."""

    def export_to_jsonl(self) -> dict[str, Any]:
        (last_seq,) = self.db.row("SELECT last_seq FROM export_state WHERE id = 1")
        rows = self.db.rows("SELECT seq, id, payload FROM messages WHERE seq > ? ORDER BY seq", (last_seq,))
        with open(self.folder / "bus.jsonl", "a", encoding="utf-8") as file:
            for row in rows:
                file.write(json.dumps(dict(zip(("seq", "id", "payload"), row, strict=True))) + "\n")
        if rows:
            time.sleep(0.005)  # as on a slow disk
            last_seq = rows[-1][0]
            self.db.write("UPDATE export_state SET last_seq = ? WHERE id = 1", (last_seq,))
        return {"last_seq": last_seq}


if __name__ == "__main__":
    serve({"worker": ExportsInTwoSteps})
