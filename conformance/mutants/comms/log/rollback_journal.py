"""The journal is not a write-ahead log."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.log.22",)


class Mutant(CommsBus):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.store.db.connection().execute("PRAGMA journal_mode = DELETE")


if __name__ == "__main__":
    serve({"comms": Mutant})
