"""delegate sends the sub-task to its caller."""

from typing import Any

from refbus.driver import serve
from refbus.timeline.bus import TimelineBus

KILLED_BY = ("timeline.retry.03", "timeline.log.05")


class Mutant(TimelineBus):
    """Does it itself."""

    def delegate(self, *args: Any, **kwargs: Any) -> Any:
        return super().delegate(*args, **{**kwargs, "target": kwargs["caller"]})


if __name__ == "__main__":
    serve({"timeline": Mutant})
