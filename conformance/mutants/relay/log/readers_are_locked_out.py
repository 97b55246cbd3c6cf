"""A pass fails while somebody reads the ledger."""

from typing import Any

from refbus.driver import serve
from refbus.kernel.errors import Busy
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.log.57",)


class Mutant(RelayBus):
    def scan(self) -> Any:
        done = super().scan()
        db = self.store.db.connection()
        db.execute("PRAGMA busy_timeout = 0")
        if db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
            raise Busy("somebody reads")
        return done


if __name__ == "__main__":
    serve({"relay": Mutant})
