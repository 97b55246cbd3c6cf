"""A removed ledger is noticed, a removed log beside it is not: rows of a pass are written where nobody looks."""

from refbus.driver import serve
from refbus.kernel.sight import Identity, Sight, identity
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.log.64",)
CHAOS = {"damage": 1}


def the_database(self: Sight) -> tuple[Identity | None, Identity | None]:
    return identity(self._paths[0]), None


Sight._found = the_database  # type: ignore[method-assign]


if __name__ == "__main__":
    serve({"relay": RelayBus})
