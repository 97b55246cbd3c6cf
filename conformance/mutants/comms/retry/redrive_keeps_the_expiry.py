"""A redriven message expires when it was to expire before."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.retry.13",)


class Mutant(CommsBus):
    def _put_back(self, connection: Any, message: Any, agent_id: Any) -> None:
        super()._put_back(connection, message, agent_id)
        connection.execute("UPDATE messages SET expires_at = ? WHERE id = ?", (message["expires_at"], message["id"]))


if __name__ == "__main__":
    serve({"comms": Mutant})
