"""A database that was removed is noticed, the log beside it is not: writes made then are found by nobody."""

from refbus.driver import serve
from refbus.kernel.sight import Identity, Sight, identity
from refbus.timeline.bus import TimelineBus

KILLED_BY = ("timeline.log.47",)
CHAOS = {"damage": 1}


def the_database(self: Sight) -> tuple[Identity | None, Identity | None]:
    return identity(self._paths[0]), None


Sight._found = the_database  # type: ignore[method-assign]


if __name__ == "__main__":
    serve({"timeline": TimelineBus})
