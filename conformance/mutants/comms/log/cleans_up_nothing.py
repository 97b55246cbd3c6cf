"""The clean-up counts expired messages and leaves them."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.log.41",)


class Mutant(CommsBus):
    def cleanup_expired_messages(self) -> dict[str, Any]:
        row = self.store.db.row("SELECT count(*) FROM messages WHERE expires_at <= ?", (self.store.now(),))
        return {"deleted": row[0]}


if __name__ == "__main__":
    serve({"comms": Mutant})
