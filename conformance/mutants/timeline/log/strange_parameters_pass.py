"""log ignores a parameter that it does not have."""

from typing import Any

from refbus.driver import serve
from refbus.timeline.bus import TimelineBus

KILLED_BY = ("timeline.log.31",)
ITEM = "corpus:program_06"


class Mutant(TimelineBus):
    """Whoever asks for more gets the usual."""

    def log(self, timeline: str, submission: Any = None, after: int = 0, limit: Any = None, **_: Any) -> Any:
        return super().log(timeline, submission, after, limit)


if __name__ == "__main__":
    serve({"timeline": Mutant})
