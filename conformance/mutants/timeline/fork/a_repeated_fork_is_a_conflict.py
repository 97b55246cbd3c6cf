"""The same fork again is refused."""

from typing import Any

from refbus.driver import serve
from refbus.kernel.errors import IdConflict
from refbus.timeline.bus import TimelineBus

KILLED_BY = ("timeline.fork.09",)
ITEM = "corpus:program_04"


class Mutant(TimelineBus):
    """Once is enough."""

    def fork(self, timeline: str, submission: str, agent_name: str, parent: str, at: int) -> Any:
        if any(one["timeline"] == timeline for one in self.timelines()["timelines"]):
            raise IdConflict(f"timeline {timeline!r} exists")
        return super().fork(timeline, submission, agent_name, parent, at)


if __name__ == "__main__":
    serve({"timeline": Mutant})
