"""A fresh orchestrator takes all agents for inactive."""

from typing import Any

from refbus.driver import serve
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.lease.11",)
ITEM = "corpus:changes"


class Mutant(RelayBus):
    def __init__(self, root: Any, **options: Any) -> None:
        super().__init__(root, **options)
        with self.store.transaction() as tx:
            tx.execute("UPDATE agents SET status = 'inactive'")


if __name__ == "__main__":
    serve({"relay": Mutant})
