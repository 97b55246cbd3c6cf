"""verify takes a head, and does not look at it."""

from typing import Any

from refbus.driver import serve
from refbus.timeline.bus import TimelineBus

KILLED_BY = ("timeline.log.23",)


class Mutant(TimelineBus):
    """Everything there is right."""

    def verify(self, timeline: str | None = None, head: str | None = None) -> Any:
        return super().verify(timeline)


if __name__ == "__main__":
    serve({"timeline": Mutant})
