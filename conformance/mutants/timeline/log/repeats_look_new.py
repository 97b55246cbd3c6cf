"""A message that was sent before is answered as if it were new."""

from typing import Any

from refbus.driver import serve
from refbus.timeline.bus import TimelineBus

KILLED_BY = ("timeline.log.11",)
ITEM = "corpus:program_05"


class Mutant(TimelineBus):
    """Takes it for granted that nobody sends twice."""

    def send(self, *args: Any, **kwargs: Any) -> Any:
        return {**super().send(*args, **kwargs), "duplicate": False}


if __name__ == "__main__":
    serve({"timeline": Mutant})
