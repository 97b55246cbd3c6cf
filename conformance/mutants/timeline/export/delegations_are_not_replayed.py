"""A replay leaves delegations out."""

from typing import Any

from refbus.driver import serve
from refbus.timeline.bus import TimelineBus

KILLED_BY = ("timeline.export.01",)
ITEM = "corpus:program_06"


class Mutant(TimelineBus):
    """Others' work is theirs."""

    def replay(self, timeline: str, submission: str) -> Any:
        found = super().replay(timeline, submission)
        return {**found, "messages": [one for one in found["messages"] if ".delegate." not in one["subject"]]}


if __name__ == "__main__":
    serve({"timeline": Mutant})
