"""The letter of a broadcast that has expired is taken away, and nobody gets it."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.retry.18",)


class Mutant(CommsBus):
    def _remove_expired(self, connection: Any, only: str | None = None) -> int:
        return 0 if only else super()._remove_expired(connection)

    def _put_back(self, connection: Any, message: Any, agent_id: Any) -> None:
        if not connection.execute("SELECT 1 FROM messages WHERE id = ?", (message["id"],)).fetchone():
            super()._put_back(connection, message, agent_id)


if __name__ == "__main__":
    serve({"comms": Mutant})
