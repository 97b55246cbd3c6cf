"""The payload is wrapped once more."""

import json
from typing import Any

from refbus.comms import bus
from refbus.comms.log import Log
from refbus.driver import serve

KILLED_BY = ("comms.log.12", "comms.log.15", "comms.log.96")
CONTROL = "log.defaults"


class Mutant(Log):
    def insert(self, tx: Any, envelope: Any, expires_at: Any) -> None:
        super().insert(tx, envelope._replace(payload=json.dumps({"payload": json.loads(envelope.payload)})), expires_at)


bus.Log = Mutant

if __name__ == "__main__":
    serve({"comms": bus.CommsBus})
