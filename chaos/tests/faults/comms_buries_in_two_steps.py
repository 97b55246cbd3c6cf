"""Planted fault: the dead letter is written, then the message removed. A kill between the two leaves both."""

import sqlite3
from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve


class BuriesInTwoSteps(CommsBus):
    """The letter commits with the failure; the message goes in a transaction of its own."""

    _buried: str | None = None

    def complete_message(self, **how: Any) -> dict[str, Any]:
        reply = super().complete_message(**how)
        buried, self._buried = self._buried, None
        if buried is not None:
            with self.db.transaction() as connection:
                connection.execute("DELETE FROM messages WHERE id = ?", (buried,))
                connection.execute("DELETE FROM message_deliveries WHERE message_id = ?", (buried,))
        return reply

    def _bury(
        self, connection: sqlite3.Connection, message_id: str, agent_id: str, after: Any, error: str, is_broadcast: bool
    ) -> None:
        super()._bury(connection, message_id, agent_id, after, error, True)
        connection.execute(
            "UPDATE dead_letter_queue SET id = ? WHERE original_message LIKE ?", (message_id, f'%"{message_id}"%')
        )
        self._buried = message_id


if __name__ == "__main__":
    serve({"comms": BuriesInTwoSteps})
