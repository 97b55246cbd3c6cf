"""A timeline that nobody has written to is shown as an empty one."""

from typing import Any

from refbus.driver import serve
from refbus.kernel.errors import NotFound
from refbus.timeline.bus import TimelineBus

KILLED_BY = ("timeline.log.29",)
ITEM = "corpus:program_02"


class Mutant(TimelineBus):
    """Nothing is there, and nothing is wrong."""

    def log(self, timeline: Any, submission: Any = None, after: Any = 0, limit: Any = None) -> Any:
        try:
            return super().log(timeline, submission, after, limit)
        except NotFound:
            return {"messages": []}


if __name__ == "__main__":
    serve({"timeline": Mutant})
