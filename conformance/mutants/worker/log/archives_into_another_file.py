"""Archiving moves messages into a second, attached file. No transaction over two files in WAL mode is atomic."""

import contextlib
import sqlite3
from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.log.03",)
CHAOS = {"points": True, "only": "archive"}


class ArchivesIntoAnotherFile(WorkerBus):
    """One COMMIT, two logs."""

    def archive(self) -> dict[str, Any]:
        connection = self.db.connection()
        connection.execute("ATTACH ? AS old", (str(self.folder / "old.db"),))
        connection.execute("PRAGMA old.journal_mode = WAL")
        connection.execute("CREATE TABLE IF NOT EXISTS old.kept AS SELECT * FROM main.messages WHERE 0")
        connection.execute("BEGIN IMMEDIATE")
        (below,) = connection.execute("SELECT coalesce(min(last_acked_seq), 0) FROM cursors").fetchone()
        connection.execute("INSERT INTO old.kept SELECT * FROM main.messages WHERE seq <= ?", (below,))
        moved = connection.execute("DELETE FROM main.messages WHERE seq <= ?", (below,)).rowcount
        connection.execute("COMMIT")
        connection.execute("DETACH old")
        return {"archived": moved, "below_seq": below}

    def dump(self) -> Any:
        reply: Any = super().dump()
        if (self.folder / "old.db").exists():
            with contextlib.closing(sqlite3.connect(self.folder / "old.db")) as connection:
                connection.row_factory = sqlite3.Row
                with contextlib.suppress(sqlite3.OperationalError):
                    reply["archived"] = [dict(row) for row in connection.execute("SELECT * FROM kept ORDER BY seq")]
        return reply


if __name__ == "__main__":
    serve({"worker": ArchivesIntoAnotherFile})
