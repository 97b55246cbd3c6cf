"""Two messages of a timeline are told the same number."""

from typing import Any

from refbus.driver import serve
from refbus.timeline.bus import TimelineBus

KILLED_BY = ("timeline.log.36",)
CONTROL = "retry.time_out"


class Mutant(TimelineBus):
    """Counts every other one."""

    def send(self, *args: Any, **kwargs: Any) -> Any:
        sent = super().send(*args, **kwargs)
        return {**sent, "number": (sent["number"] + 1) // 2}


if __name__ == "__main__":
    serve({"timeline": Mutant})
