"""A bucket refills by one a second."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.limit.03",)
CONTROL = "limit.each_agent"


class Mutant(CommsBus):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"rate_refill_per_s": 1.0, **kwargs})


if __name__ == "__main__":
    serve({"comms": Mutant})
