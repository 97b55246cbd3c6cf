"""A redriven message has two attempts left."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.retry.15",)


class Mutant(CommsBus):
    def _put_back(self, connection: Any, message: Any, agent_id: Any) -> None:
        super()._put_back(connection, message, agent_id)
        connection.execute(
            "INSERT INTO message_deliveries VALUES (?, ?, 'pending', 3, 1, ?, NULL)",
            (message["id"], agent_id, self._now()),
        )


if __name__ == "__main__":
    serve({"comms": Mutant})
