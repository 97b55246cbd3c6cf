"""The next message is looked up before the lock is taken."""

from typing import Any

from refbus.driver import serve
from refbus.timeline import sqlite
from refbus.timeline.bus import TimelineBus

KILLED_BY = ("timeline.cursor.02",)

_next, _seen = sqlite._next, dict[str, int]()


def of_the_look(tx: Any, name: str, wanted: Any) -> int | None:
    if name not in _seen:
        found = _next(tx, name, wanted)
        if found is not None:
            _seen[name] = found
        return found
    return _seen.pop(name)


sqlite._next = of_the_look


if __name__ == "__main__":
    serve({"timeline": TimelineBus})
