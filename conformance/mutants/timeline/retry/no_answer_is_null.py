"""A call without an answer in time returns null."""

from typing import Any

from refbus.driver import serve
from refbus.kernel.errors import TimedOut
from refbus.timeline.bus import TimelineBus

KILLED_BY = ("timeline.retry.04",)


class Mutant(TimelineBus):
    """Nothing is an answer."""

    def call_service(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return super().call_service(*args, **kwargs)
        except TimedOut:
            return {"payload": None, "number": 0, "hash": "", "state": None, "replayed": False}


if __name__ == "__main__":
    serve({"timeline": Mutant})
