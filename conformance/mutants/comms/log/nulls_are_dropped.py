"""Members of the payload that are null are lost."""

import json
from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.log.15",)


class Mutant(CommsBus):
    def _insert(self, connection: Any, envelope: Any, expires_at: Any) -> None:
        kept = {key: value for key, value in json.loads(envelope.payload).items() if value is not None}
        super()._insert(connection, envelope._replace(payload=json.dumps(kept)), expires_at)


if __name__ == "__main__":
    serve({"comms": Mutant})
