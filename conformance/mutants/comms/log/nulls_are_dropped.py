"""Members of the payload that are null are lost."""

import json
from typing import Any

from refbus.comms import bus
from refbus.comms.log import Log
from refbus.driver import serve

KILLED_BY = ("comms.log.15",)


class Mutant(Log):
    def insert(self, tx: Any, envelope: Any, expires_at: Any) -> None:
        kept = {key: value for key, value in json.loads(envelope.payload).items() if value is not None}
        super().insert(tx, envelope._replace(payload=json.dumps(kept)), expires_at)


bus.Log = Mutant

if __name__ == "__main__":
    serve({"comms": bus.CommsBus})
