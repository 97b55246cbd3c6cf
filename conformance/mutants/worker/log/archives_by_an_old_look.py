"""archive reads the cursors before it has the lock."""

from __future__ import annotations

from typing import Any

from refbus.driver import serve
from refbus.kernel.rules import cursor
from refbus.worker import archive, bus

KILLED_BY = ("worker.log.63",)


class Faulty(archive.Archive):
    def archive(self) -> Any:
        cursors = [seq for (seq,) in self._store.db.rows("SELECT last_acked_seq FROM cursors")]
        below_seq = cursor.archivable_below(cursors)
        with self._store.transaction() as tx:
            moved, _ = self._move_some(tx, 0, below_seq)
        return {"archived": moved, "below_seq": below_seq}


bus.Archive = Faulty


if __name__ == "__main__":
    serve({"worker": bus.WorkerBus})
