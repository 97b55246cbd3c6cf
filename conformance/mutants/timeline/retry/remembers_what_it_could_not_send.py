"""A session remembers its requests, so as not to ask twice, and remembers each before it is recorded."""

from typing import Any

from refbus.driver import serve
from refbus.timeline.bus import TimelineBus
from refbus.timeline.call import Calls

KILLED_BY = ("timeline.retry.12",)
ITEM = "retry.refused"


class Once:
    """A log to which the same is appended once."""

    def __init__(self, log: Any) -> None:
        self._log, self._asked = log, set[Any]()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._log, name)

    def append(self, draft: Any) -> None:
        if draft not in self._asked:
            self._asked.add(draft)
            self._log.append(draft)


_init = Calls.__init__


def begins(self: Calls, store: Any, lineage: Any, log: Any) -> None:
    _init(self, store, lineage, Once(log))  # type: ignore[arg-type]


Calls.__init__ = begins  # type: ignore[method-assign]

if __name__ == "__main__":
    serve({"timeline": TimelineBus})
