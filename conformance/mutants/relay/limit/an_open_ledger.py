"""The ledger is open to others."""

from typing import Any

from refbus.driver import serve
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.limit.07",)


class Mutant(RelayBus):
    def __init__(self, root: Any, **options: Any) -> None:
        super().__init__(root, **options)
        (self.store.root / "ledger.db").chmod(0o644)


if __name__ == "__main__":
    serve({"relay": Mutant})
