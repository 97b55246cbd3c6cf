"""A Fork message does not say of what it is a fork."""

from refbus.driver import serve
from refbus.timeline import fork
from refbus.timeline.bus import TimelineBus

KILLED_BY = ("timeline.log.07",)
ITEM = "corpus:program_05"

draft = fork.draft
fork.draft = lambda key, payload: draft(key, {})  # type: ignore[assignment, misc]


if __name__ == "__main__":
    serve({"timeline": TimelineBus})
