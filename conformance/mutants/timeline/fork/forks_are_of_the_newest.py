"""A fork begins at the newest message of its parent, wherever it was asked for."""

from typing import Any

from refbus.driver import serve
from refbus.timeline.bus import TimelineBus

KILLED_BY = ("timeline.fork.01",)
ITEM = "corpus:program_03"


class Mutant(TimelineBus):
    """Now is as good as then."""

    def fork(self, timeline: str, submission: str, agent_name: str, parent: str, at: int) -> Any:
        newest = [one["number"] for one in self.log(parent)["messages"]][-1]
        return super().fork(timeline, submission, agent_name, parent, min(at, 1) and (newest if at <= newest else at))


if __name__ == "__main__":
    serve({"timeline": Mutant})
