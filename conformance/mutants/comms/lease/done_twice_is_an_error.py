"""Completing what is done is refused."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve
from refbus.kernel.errors import NotClaimed

KILLED_BY = ("comms.lease.07",)


class Mutant(CommsBus):
    def complete_message(self, message_id: str, error: Any = None, **more: Any) -> dict[str, Any]:
        if self.store.db.row("SELECT status FROM messages WHERE id = ?", (message_id,)) == ("done",):
            raise NotClaimed("it is done")
        return super().complete_message(message_id, error, **more)


if __name__ == "__main__":
    serve({"comms": Mutant})
