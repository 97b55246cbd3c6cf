"""Exporters read the new messages, and then append them, without a lock."""

import json
from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus
from refbus.worker.message import as_row

KILLED_BY = ("worker.export.10",)


class Mutant(WorkerBus):
    def export_to_jsonl(self) -> dict[str, Any]:
        (last,) = self.db.row("SELECT last_seq FROM export_state")
        rows = self.db.rows("SELECT * FROM messages WHERE seq > ? ORDER BY seq", (last,))
        with (self.folder / "bus.jsonl").open("a") as file:
            for row in rows:
                file.write(json.dumps(as_row(row)) + "\n")
        last = rows[-1][0] if rows else last
        self.db.write("UPDATE export_state SET last_seq = ?", (last,))
        return {"last_seq": last}


if __name__ == "__main__":
    serve({"worker": Mutant})
