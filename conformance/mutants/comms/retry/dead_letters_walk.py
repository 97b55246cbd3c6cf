"""A dead letter is still a message."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.retry.08", "comms.retry.12")


class Mutant(CommsBus):
    def _bury(self, connection: Any, message_id: str, *args: Any) -> None:
        row = connection.execute("SELECT * FROM messages WHERE id = ?", (message_id,)).fetchone()
        super()._bury(connection, message_id, *args)
        connection.execute("DELETE FROM messages WHERE id = ?", (message_id,))
        connection.execute(f"INSERT INTO messages VALUES ({', '.join('?' * len(row))})", row)
        connection.execute("UPDATE messages SET status = 'pending' WHERE id = ?", (message_id,))


if __name__ == "__main__":
    serve({"comms": Mutant})
