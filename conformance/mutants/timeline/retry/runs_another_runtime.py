"""run_agent sends its Invoke to a runtime of its own choice."""

from typing import Any

from refbus.driver import serve
from refbus.timeline.bus import TimelineBus

KILLED_BY = ("timeline.retry.01",)


class Mutant(TimelineBus):
    """Knows better."""

    def run_agent(self, *args: Any, **kwargs: Any) -> Any:
        return super().run_agent(*args, **{**kwargs, "runtime": "default"})


if __name__ == "__main__":
    serve({"timeline": Mutant})
