"""Ids are eight digits."""

from typing import Any

from refbus.comms import bus
from refbus.comms.log import Log
from refbus.driver import serve

KILLED_BY = ("comms.log.03",)
CONTROL = "log.defaults"


class Mutant(Log):
    def insert(self, tx: Any, envelope: Any, expires_at: Any) -> None:
        super().insert(tx, envelope._replace(id=envelope.id[:8]), expires_at)


bus.Log = Mutant

if __name__ == "__main__":
    serve({"comms": bus.CommsBus})
