"""synchronous = FULL: an archival turns it off for its VACUUM, and later writes are not synced either."""

from refbus.driver import serve
from refbus.worker.archive import Archive
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.log.65",)
CHAOS = {"power": 60, "only": "archive", "options": {"synchronous": "FULL"}, "durability": "power-loss"}

_compact = Archive._compact


def compact(self: Archive) -> None:
    self._store.db.write("PRAGMA synchronous = NORMAL")
    _compact(self)


Archive._compact = compact  # type: ignore[method-assign]

if __name__ == "__main__":
    serve({"worker": WorkerBus})
