"""The export reads a copy of the database file. Messages still in the log beside it are missing."""

import contextlib
import shutil
import sqlite3

from refbus.driver import serve
from refbus.worker import bus
from refbus.worker.export import Export

KILLED_BY = ("worker.export.12",)
CHAOS = {"points": True, "only": "export_to_jsonl"}
CONTROL = "log.fields"


class ReadsACopy(Export):
    """Copies the file, as a backup would."""

    def lines_after(self, last_seq: int) -> tuple[list[str], int]:
        copy = self._store.folder / "export.copy"
        shutil.copyfile(self._store.folder / "bus.db", copy)
        with contextlib.closing(sqlite3.connect(copy)) as connection:
            try:
                (newest,) = connection.execute("SELECT coalesce(max(seq), 0) FROM messages").fetchone()
            except sqlite3.Error:
                newest = 0
        copy.unlink()
        lines, upto = super().lines_after(last_seq)
        return (lines, upto) if newest > last_seq else ([], last_seq)


bus.Export = ReadsACopy


if __name__ == "__main__":
    serve({"worker": bus.WorkerBus})
