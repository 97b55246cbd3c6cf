"""A dead letter is still a message."""

from typing import Any

from refbus.comms import bus
from refbus.comms.lease import Leases
from refbus.driver import serve

KILLED_BY = ("comms.retry.08", "comms.retry.12")


class Mutant(Leases):
    def bury(self, tx: Any, message_id: str, *args: Any) -> None:
        row = tx.execute("SELECT * FROM messages WHERE id = ?", (message_id,)).fetchone()
        super().bury(tx, message_id, *args)
        tx.execute("DELETE FROM messages WHERE id = ?", (message_id,))
        tx.execute(f"INSERT INTO messages VALUES ({', '.join('?' * len(row))})", row)
        tx.execute("UPDATE messages SET status = 'pending' WHERE id = ?", (message_id,))


bus.Leases = Mutant

if __name__ == "__main__":
    serve({"comms": bus.CommsBus})
