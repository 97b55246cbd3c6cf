"""An older file is brought up to date in two transactions. A kill between leaves one that nobody opens."""

from typing import Any

from refbus.driver import serve
from refbus.kernel.schema import Schema
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.log.03",)
CHAOS = {"points": True, "only": "open, an older file"}


def in_pieces(self: Schema, tx: Any) -> None:
    """Marked first."""
    self.refuse_version(tx)
    self.create_missing(tx)
    tx.execute("INSERT OR REPLACE INTO meta (key, value) VALUES ('schema_version', 'on its way')")
    tx.execute("COMMIT")
    tx.execute("BEGIN IMMEDIATE")
    tx.execute("INSERT OR REPLACE INTO meta (key, value) VALUES ('schema_version', ?)", (str(self.version),))


Schema.bring_up_to_date = in_pieces


if __name__ == "__main__":
    serve({"worker": WorkerBus})
