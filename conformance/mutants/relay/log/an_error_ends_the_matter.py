"""A pass that an error ended leaves no mark: the same process's next one takes up nothing that it had begun."""

from typing import Any

from refbus.driver import serve
from refbus.relay.bus import RelayBus
from refbus.relay.passes import Passes

KILLED_BY = ("relay.log.60",)
CHAOS = {"disk_full": True, "only": "scan", "levels": (8, 11, 13), "errors": ()}

scan = Passes.scan


def and_all_is_well(self: Passes) -> Any:
    try:
        return scan(self)
    finally:
        self._is_interrupted = False


Passes.scan = and_all_is_well  # type: ignore[method-assign]


if __name__ == "__main__":
    serve({"relay": RelayBus})
