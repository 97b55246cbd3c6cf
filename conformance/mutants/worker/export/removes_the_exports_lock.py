"""The file of the export's lock is removed when it is given back: one that waited and a newcomer are both inside."""

import contextlib
from collections.abc import Iterator

from refbus.driver import serve
from refbus.kernel.jsonl import JsonlFile
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.log.66",)
CHAOS = {"holds": True, "only": "export_to_jsonl", "against": "an export, a publish, and an export later", "twice": 24}

_locked = JsonlFile.locked


@contextlib.contextmanager
def locked(self: JsonlFile) -> Iterator[None]:
    """And tidies up."""
    with _locked(self):
        yield
        self._lock_path.unlink(missing_ok=True)


JsonlFile.locked = locked  # type: ignore[method-assign]

if __name__ == "__main__":
    serve({"worker": WorkerBus})
