"""The ledger is not in WAL mode."""

from typing import Any

from refbus.driver import serve
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.log.18",)


class Mutant(RelayBus):
    def __init__(self, root: Any, **options: Any) -> None:
        super().__init__(root, **options)
        self.store.db.connection().execute("PRAGMA journal_mode = DELETE")


if __name__ == "__main__":
    serve({"relay": Mutant})
