"""The lock's file is removed after each export: an exporter that waits has the old one, a later one makes a new one."""

import contextlib
from collections.abc import Iterator

from refbus.comms.bus import CommsBus
from refbus.driver import serve
from refbus.kernel.jsonl import JsonlFile

KILLED_BY = ("comms.export.11",)
CHAOS = {"holds": True, "twice": 24, "only": "export_audit_trail"}

locked = JsonlFile.locked


@contextlib.contextmanager
def locked_and_removed(self: JsonlFile) -> Iterator[None]:
    with locked(self):
        yield
        self._lock_path.unlink(missing_ok=True)


JsonlFile.locked = locked_and_removed  # type: ignore[method-assign]


if __name__ == "__main__":
    serve({"comms": CommsBus})
