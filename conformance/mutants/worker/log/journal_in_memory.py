"""The rollback journal is kept in memory. A kill in the middle of a write leaves half of it."""

from typing import Any

from refbus.driver import serve
from refbus.kernel.db import Database
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.log.03",)
CHAOS = {"points": True, "only": "publish_many"}


class JournalInMemory(WorkerBus):
    """No write-ahead log, no journal on the disk."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.db.connection().execute("PRAGMA journal_mode = MEMORY")


Database.refuse_another_file = lambda self, **how: None


if __name__ == "__main__":
    serve({"worker": JournalInMemory})
