"""A message that was just sent has one delivery."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.log.23",)


class Mutant(CommsBus):
    def _insert(self, connection: Any, envelope: Any, expires_at: Any) -> None:
        super()._insert(connection, envelope, expires_at)
        connection.execute("UPDATE messages SET delivery_count = 1 WHERE id = ?", (envelope.id,))


if __name__ == "__main__":
    serve({"comms": Mutant})
