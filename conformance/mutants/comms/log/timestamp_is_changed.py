"""Messages have no time."""

from typing import Any

from refbus.comms import bus
from refbus.comms.log import Log
from refbus.driver import serve

KILLED_BY = ("comms.log.06",)
CONTROL = "log.defaults"


class Mutant(Log):
    def insert(self, tx: Any, envelope: Any, expires_at: Any) -> None:
        super().insert(tx, envelope._replace(timestamp="1970-01-01T00:00:00.000000Z"), expires_at)


bus.Log = Mutant

if __name__ == "__main__":
    serve({"comms": bus.CommsBus})
