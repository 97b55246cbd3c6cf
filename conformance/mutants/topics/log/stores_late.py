"""Messages are told as sent, and stored by the next call. A kill between the two loses them."""

from typing import Any

from refbus.topics.bus import TopicsBus
from refbus.topics.cursor import SyncCall
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.log.75",)
CONTROL = "log.ids"
CHAOS = {"kills": 8}


class StoresLate(TopicsBus):
    """Takes out the messages that it has just stored, and puts them back later."""

    _late: list[tuple[Any, ...]] = []  # noqa: RUF012

    def begin_sync(self, *args: object, **how: object) -> SyncCall:
        with self.store.transaction() as tx:
            for row in self._late:
                tx.execute(f"INSERT INTO messages VALUES ({', '.join('?' * len(row))})", row)
        call = super().begin_sync(*args, **how)  # type: ignore[arg-type]
        ids = [(record["message"]["message_id"],) for record in call.reply["sent"] if not record["duplicate"]]
        with self.store.transaction() as tx:
            rows = [tx.execute("SELECT * FROM messages WHERE message_id = ?", id_) for id_ in ids]
            self._late = [cursor.fetchone() for cursor in rows]
            tx.executemany("DELETE FROM messages WHERE message_id = ?", ids)
        return call


if __name__ == "__main__":
    main(StoresLate)
