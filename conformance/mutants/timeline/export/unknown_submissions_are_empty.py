"""A submission that nobody made is replayed as an empty one."""

from hashlib import sha256
from typing import Any

from refbus.driver import serve
from refbus.kernel.errors import NotFound
from refbus.timeline.bus import TimelineBus

KILLED_BY = ("timeline.export.04",)
ITEM = "corpus:program_03"


class Mutant(TimelineBus):
    """Nothing happened, and here it is."""

    def replay(self, timeline: str, submission: str) -> Any:
        try:
            return super().replay(timeline, submission)
        except NotFound:
            self.log(timeline)
            return {"messages": [], "complete": None, "digest": sha256(b"").hexdigest()}


if __name__ == "__main__":
    serve({"timeline": Mutant})
