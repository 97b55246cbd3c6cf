"""log shows the message `after` once more."""

from typing import Any

from refbus.driver import serve
from refbus.timeline.bus import TimelineBus

KILLED_BY = ("timeline.log.28",)
ITEM = "corpus:program_10"


class Mutant(TimelineBus):
    """From there on."""

    def log(self, timeline: str, submission: Any = None, after: int = 0, limit: Any = None) -> Any:
        return super().log(timeline, submission, after - 1 if type(after) is int and after > 0 else after, limit)


if __name__ == "__main__":
    serve({"timeline": Mutant})
