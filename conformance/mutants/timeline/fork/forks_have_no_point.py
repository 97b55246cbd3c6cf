"""timelines does not tell where a fork leaves its parent."""

from typing import Any

from refbus.driver import serve
from refbus.timeline.bus import TimelineBus

KILLED_BY = ("timeline.fork.11",)
ITEM = "corpus:program_02"


class Mutant(TimelineBus):
    """A list will do."""

    def timelines(self) -> Any:
        return {"timelines": [{**one, "at": None} for one in super().timelines()["timelines"]]}


if __name__ == "__main__":
    serve({"timeline": Mutant})
