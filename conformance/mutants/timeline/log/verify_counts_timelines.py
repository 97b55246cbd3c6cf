"""verify says how many timelines it has looked at."""

from typing import Any

from refbus.driver import serve
from refbus.timeline.bus import TimelineBus

KILLED_BY = ("timeline.log.24",)
ITEM = "corpus:program_03"


class Mutant(TimelineBus):
    """One is one."""

    def verify(self, *args: Any, **kwargs: Any) -> Any:
        return {**super().verify(*args, **kwargs), "checked": len(self.timelines()["timelines"])}


if __name__ == "__main__":
    serve({"timeline": Mutant})
