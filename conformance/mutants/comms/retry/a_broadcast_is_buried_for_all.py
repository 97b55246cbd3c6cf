"""One agent's dead letter takes a broadcast from the others."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.retry.17",)


class Mutant(CommsBus):
    def _bury(self, connection: Any, message_id: str, *args: Any) -> None:
        super()._bury(connection, message_id, *args)
        connection.execute("DELETE FROM messages WHERE id = ?", (message_id,))


if __name__ == "__main__":
    serve({"comms": Mutant})
