"""A submission that has no Complete yet cannot be replayed."""

from typing import Any

from refbus.driver import serve
from refbus.kernel.errors import NotFound
from refbus.timeline.bus import TimelineBus

KILLED_BY = ("timeline.export.02",)
ITEM = "corpus:program_01"


class Mutant(TimelineBus):
    """Asks the agent to finish first."""

    def replay(self, timeline: str, submission: str) -> Any:
        found = super().replay(timeline, submission)
        if found["complete"] is None:
            raise NotFound("the agent has not finished")
        return found


if __name__ == "__main__":
    serve({"timeline": Mutant})
