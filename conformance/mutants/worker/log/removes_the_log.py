"""A process that opens the store and is alone there clears away the log that a crash left."""

import fcntl
from pathlib import Path
from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.log.03",)
CHAOS = {"points": True, "only": "publish"}


class RemovesTheLog(WorkerBus):
    """Where nobody else is there."""

    def __init__(self, store: Any, **options: Any) -> None:
        self._here = open(Path(store, "here.lock"), "ab")  # noqa: SIM115
        try:
            fcntl.flock(self._here, fcntl.LOCK_EX | fcntl.LOCK_NB)
            for name in ("bus.db-wal", "bus.db-shm"):
                Path(store, name).unlink(missing_ok=True)
        except BlockingIOError:
            pass
        fcntl.flock(self._here, fcntl.LOCK_SH)
        super().__init__(store, **options)

    def close(self) -> None:
        super().close()
        self._here.close()


if __name__ == "__main__":
    serve({"worker": RemovesTheLog})
