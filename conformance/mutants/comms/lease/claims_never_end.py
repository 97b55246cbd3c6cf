"""A claimer that dies keeps its message for ever (C2)."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.lease.13", "comms.lease.14")


class Mutant(CommsBus):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.store.visibility_ms = 10**10


if __name__ == "__main__":
    serve({"comms": Mutant})
