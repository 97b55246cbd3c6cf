"""The payload is wrapped once more."""

import json
from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.log.12", "comms.log.15")


class Mutant(CommsBus):
    def _insert(self, connection: Any, envelope: Any, expires_at: Any) -> None:
        super()._insert(
            connection, envelope._replace(payload=json.dumps({"payload": json.loads(envelope.payload)})), expires_at
        )


if __name__ == "__main__":
    serve({"comms": Mutant})
