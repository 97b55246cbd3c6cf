"""Opening a project empties it."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.log.27",)


class Mutant(CommsBus):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.store.db.write("DELETE FROM messages")


if __name__ == "__main__":
    serve({"comms": Mutant})
