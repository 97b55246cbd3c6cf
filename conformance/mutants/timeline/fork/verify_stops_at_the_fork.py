"""verify of a fork looks at its own messages only."""

from typing import Any

from refbus.driver import serve
from refbus.timeline.bus import TimelineBus

KILLED_BY = ("timeline.fork.12",)
ITEM = "corpus:program_11"


class Mutant(TimelineBus):
    """The rest is somebody else's."""

    def verify(self, timeline: str | None = None, head: str | None = None) -> Any:
        found = super().verify(timeline, head)
        rows = {one["timeline"]: one for one in self.timelines()["timelines"]}
        if timeline is not None and rows[timeline]["parent"] is not None:
            found["checked"] = rows[timeline]["number"] - rows[timeline]["at"]
        return found


if __name__ == "__main__":
    serve({"timeline": Mutant})
