"""A claim lives for fifty seconds."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.lease.12",)


class Mutant(CommsBus):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.store.visibility_ms = 50_000


if __name__ == "__main__":
    serve({"comms": Mutant})
