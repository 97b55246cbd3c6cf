"""Each commit is synced, and none of the folders that the ledger speaks of: copies and archived files may be gone."""

from typing import Any

from refbus.driver import serve
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.log.65",)
CHAOS = {"power": 60}


class Mutant(RelayBus):
    def __init__(self, root: Any, **options: Any) -> None:
        super().__init__(root, **options)
        self.store.is_power_safe = False


if __name__ == "__main__":
    serve({"relay": Mutant})
