"""A wait ends with any message in the file, whether it is for the reader or not."""

from refbus.kernel.transaction import Transaction
from refbus.topics import cursor
from refbus.topics.cursor import SyncCall
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.cursor.29",)


class Call(SyncCall):
    seen: int | None = None
    is_woken = False

    @property
    def is_done(self) -> bool:
        return self.is_woken or super().is_done

    def sees_news(self, tx: Transaction) -> bool:
        (count,) = tx.execute("SELECT count(*) FROM messages").fetchone()
        self.is_woken = self.is_woken or self.seen not in (None, count)
        self.seen = count
        return self.is_woken or super().sees_news(tx)


cursor.SyncCall = Call


if __name__ == "__main__":
    raise SystemExit(main())
