"""The lock is given back before the lines are written: an exporter that waited reads the same messages."""

import json
import time
from typing import Any

from refbus.driver import serve
from refbus.kernel.jsonl import JsonlFile
from refbus.worker.bus import WorkerBus
from refbus.worker.message import as_row

KILLED_BY = ("worker.export.16",)


class Mutant(WorkerBus):
    def export_to_jsonl(self) -> dict[str, Any]:
        with JsonlFile(self.folder / "bus.jsonl", self.folder / "export.lock", None).locked():  # type: ignore[arg-type]
            (last,) = self.db.row("SELECT last_seq FROM export_state")
            rows = self.db.rows("SELECT * FROM messages WHERE seq > ? ORDER BY seq", (last,))
        time.sleep(0.02)  # a slow disk
        with (self.folder / "bus.jsonl").open("a") as file:
            file.writelines(json.dumps(as_row(row)) + "\n" for row in rows)
        last = rows[-1][0] if rows else last
        self.db.write("UPDATE export_state SET last_seq = max(last_seq, ?)", (last,))
        return {"last_seq": last}


if __name__ == "__main__":
    serve({"worker": Mutant})
