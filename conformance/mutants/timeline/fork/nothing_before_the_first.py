"""A fork before the first message is refused."""

from typing import Any

from refbus.driver import serve
from refbus.kernel.errors import InvalidArgument
from refbus.timeline.bus import TimelineBus

KILLED_BY = ("timeline.fork.05",)
ITEM = "corpus:program_01"


class Mutant(TimelineBus):
    """Zero is no number of a message."""

    def fork(self, timeline: str, submission: str, agent_name: str, parent: str, at: int) -> Any:
        if at == 0:
            raise InvalidArgument("at must be at least 1")
        return super().fork(timeline, submission, agent_name, parent, at)


if __name__ == "__main__":
    serve({"timeline": Mutant})
