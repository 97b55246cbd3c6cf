"""A fresh orchestrator begins with an empty ledger."""

from pathlib import Path
from typing import Any

from refbus.driver import serve
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.log.02",)


class Mutant(RelayBus):
    def __init__(self, root: Any, **options: Any) -> None:
        for name in ("ledger.db", "ledger.db-wal", "ledger.db-shm"):
            (Path(root) / name).unlink(missing_ok=True)
        super().__init__(root, **options)


if __name__ == "__main__":
    serve({"relay": Mutant})
