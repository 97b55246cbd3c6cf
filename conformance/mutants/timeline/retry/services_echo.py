"""call_service returns the payload that was sent."""

from typing import Any

from refbus.driver import serve
from refbus.timeline.bus import TimelineBus

KILLED_BY = ("timeline.retry.02",)


class Mutant(TimelineBus):
    """Hears itself."""

    def call_service(self, *args: Any, **kwargs: Any) -> Any:
        return {**super().call_service(*args, **kwargs), "payload": kwargs["payload"]}


if __name__ == "__main__":
    serve({"timeline": Mutant})
