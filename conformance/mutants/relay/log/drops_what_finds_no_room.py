"""A file that cannot be processed on a full disk is deleted, and the pass is told as done."""

from pathlib import Path
from typing import Any

from refbus.driver import serve
from refbus.kernel.errors import DiskFull
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.log.60",)
CHAOS = {"disk_full": True, "only": "scan", "levels": (0,)}


class Mutant(RelayBus):
    def scan(self, *arguments: Any, **options: Any) -> Any:
        try:
            return super().scan(*arguments, **options)
        except DiskFull:
            for path in Path(self.store.root).glob("**/outbox/*.msg"):
                path.unlink()
            return dict.fromkeys(("discovered", "completed", "failed", "retried", "refused"), 0)


if __name__ == "__main__":
    serve({"relay": Mutant})
