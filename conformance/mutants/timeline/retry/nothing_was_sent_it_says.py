"""A call that waits is told, definitely, that nothing happened when its database goes, though its question is sent."""

from contextlib import nullcontext

from refbus.driver import serve
from refbus.timeline import call
from refbus.timeline.bus import TimelineBus

KILLED_BY = ("timeline.retry.14",)

call.after_a_part = nullcontext  # type: ignore[assignment]


if __name__ == "__main__":
    serve({"timeline": TimelineBus})
