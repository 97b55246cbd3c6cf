"""A send stores nothing."""

from typing import Any

from refbus.comms import bus
from refbus.comms.log import Log
from refbus.driver import serve

KILLED_BY = ("comms.log.01", "comms.log.16", "comms.log.27", "comms.route.04")
CONTROL = "log.unique_ids"


class Mutant(Log):
    def insert(self, tx: Any, envelope: Any, expires_at: Any) -> None:
        return


bus.Log = Mutant

if __name__ == "__main__":
    serve({"comms": bus.CommsBus})
