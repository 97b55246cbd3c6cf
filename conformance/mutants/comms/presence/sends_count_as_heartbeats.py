"""A message makes its recipient look alive."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.presence.06",)


class Mutant(CommsBus):
    def _insert(self, connection: Any, envelope: Any, expires_at: Any) -> None:
        super()._insert(connection, envelope, expires_at)
        connection.execute("UPDATE agent_status SET last_heartbeat = ?", (envelope.timestamp,))


if __name__ == "__main__":
    serve({"comms": Mutant})
