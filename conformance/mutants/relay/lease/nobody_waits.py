"""Nobody waits for a locked ledger."""

from typing import Any

from refbus.driver import serve
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.lease.10",)


class Mutant(RelayBus):
    def __init__(self, root: Any, **options: Any) -> None:
        super().__init__(root, **options)
        self.store.db.connection().execute("PRAGMA busy_timeout = 0")


if __name__ == "__main__":
    serve({"relay": Mutant})
