"""A known id with its payload is the same message, even for another recipient."""

from typing import Any

from refbus.comms import bus
from refbus.comms.log import Log
from refbus.driver import serve
from refbus.kernel.errors import IdConflict

KILLED_BY = ("comms.log.66",)


class Mutant(Log):
    def is_known(self, tx: Any, envelope: Any) -> bool:
        try:
            return super().is_known(tx, envelope)
        except IdConflict:
            row = tx.execute("SELECT payload FROM messages WHERE id = ?", (envelope.id,)).fetchone()
            if row is None or row[0] != envelope.payload:
                raise
            return True


bus.Log = Mutant

if __name__ == "__main__":
    serve({"comms": bus.CommsBus})
