"""The digest of a replay is that of its last message."""

from hashlib import sha256
from typing import Any

from refbus.driver import serve
from refbus.timeline.bus import TimelineBus

KILLED_BY = ("timeline.export.03",)
ITEM = "corpus:program_04"


class Mutant(TimelineBus):
    """The last hash covers all before it, does it not?"""

    def replay(self, timeline: str, submission: str) -> Any:
        found = super().replay(timeline, submission)
        return {**found, "digest": sha256(found["messages"][-1]["hash"].encode()).hexdigest()}


if __name__ == "__main__":
    serve({"timeline": Mutant})
