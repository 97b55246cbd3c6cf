"""A bucket holds a thousand tokens."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.limit.01",)
CONTROL = "limit.breaker"


class Mutant(CommsBus):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"rate_capacity": 1000.0, **kwargs})


if __name__ == "__main__":
    serve({"comms": Mutant})
