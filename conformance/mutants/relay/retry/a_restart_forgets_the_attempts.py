"""The attempts at a message are counted by the orchestrator that makes them: the next one begins anew."""

from typing import Any

from refbus.driver import serve
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.log.63",)
ITEM = "explore:states"


class Mutant(RelayBus):
    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        with self.store.transaction() as tx:
            tx.execute("UPDATE messages SET retry_count = 0 WHERE status = 'pending'")


if __name__ == "__main__":
    serve({"relay": Mutant})
