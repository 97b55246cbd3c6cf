"""A time-out below zero is none."""

from typing import Any

from refbus.driver import serve
from refbus.timeline.bus import TimelineBus

KILLED_BY = ("timeline.retry.10",)
ITEM = "corpus:program_01"


class Mutant(TimelineBus):
    """At once, then."""

    def call_service(self, *args: Any, timeout_ms: Any = 30_000, **kwargs: Any) -> Any:
        at_least_none = max(0, int(timeout_ms))
        return super().call_service(*args, timeout_ms=at_least_none, **kwargs)

    def run_agent(self, *args: Any, timeout_ms: Any = 30_000, **kwargs: Any) -> Any:
        return super().run_agent(*args, timeout_ms=max(0, int(timeout_ms)), **kwargs)


if __name__ == "__main__":
    serve({"timeline": Mutant})
